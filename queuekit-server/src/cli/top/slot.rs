//! The last answer of a route.

/// An answer, or why the route refuses one.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) value: Option<T>,
    pub(super) refused: Option<String>,
}

/// A list, which may be only the first part.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    pub(super) has_more: bool,
}

impl<T> Slot<T> {
    pub(super) fn set(&mut self, value: T) {
        *self = Self { value: Some(value), refused: None };
    }

    /// The route refuses: what it answered before no longer holds.
    pub(super) fn refuse(&mut self, why: String) {
        *self = Self { value: None, refused: Some(why) };
    }
}

impl<T> Slot<Listed<T>> {
    pub(super) fn items(&self) -> &[T] {
        self.value.as_ref().map_or(&[], |listed| &listed.items)
    }

    /// How many there are: `200+` if there are more than were answered.
    pub(super) fn length(&self) -> String {
        let more = self.value.as_ref().is_some_and(|listed| listed.has_more);
        format!("{}{}", self.items().len(), if more { "+" } else { "" })
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: None, refused: None }
    }
}
