//! What handlers share: a pool, a client, settings.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

use queuekit_core::{Error, ErrorKind, Result};

/// One value per type.
#[derive(Default)]
pub(crate) struct Values(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Values {
    /// Adds a value, in place of an earlier one of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value of this type.
    ///
    /// # Errors
    /// `NotFound` if the worker was given none.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Result<&T> {
        let value = self.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref());
        value.ok_or_else(|| {
            let name = type_name::<T>();
            let message = format!(
                "the worker has no state of type `{name}`; add it with `Worker::state(value)`"
            );
            Error::new(ErrorKind::NotFound, message)
        })
    }
}
