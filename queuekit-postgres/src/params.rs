//! Parameters with their types, so that a statement needs no round trip to learn them.

use tokio_postgres::types::{ToSql, Type};

pub(crate) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// A Rust type that is always sent as one Postgres type.
pub(crate) trait Param: ToSql + Sync {
    fn of() -> Type;

    fn array() -> Type;
}

macro_rules! param {
    ($($rust:ty => $one:ident $many:ident)*) => {
        $(impl Param for $rust {
            fn of() -> Type {
                Type::$one
            }

            fn array() -> Type {
                Type::$many
            }
        })*
    };
}

param! {
    bool => BOOL BOOL_ARRAY
    i16 => INT2 INT2_ARRAY
    i32 => INT4 INT4_ARRAY
    i64 => INT8 INT8_ARRAY
    f32 => FLOAT4 FLOAT4_ARRAY
    &str => TEXT TEXT_ARRAY
    String => TEXT TEXT_ARRAY
    &[u8] => BYTEA BYTEA_ARRAY
    uuid::Uuid => UUID UUID_ARRAY
}

impl<T: Param> Param for Option<T> {
    fn of() -> Type {
        T::of()
    }

    fn array() -> Type {
        T::array()
    }
}

impl<T: Param> Param for Vec<T> {
    fn of() -> Type {
        T::array()
    }

    fn array() -> Type {
        T::array()
    }
}

pub(crate) fn typed<T: Param>(value: &T) -> Typed<'_> {
    (value, T::of())
}

/// Shortens a column of equal values to its first: the server unpacks every value it gets.
pub(crate) fn once<T: PartialEq>(mut column: Vec<T>) -> Vec<T> {
    if column.windows(2).all(|two| two[0] == two[1]) {
        column.truncate(1);
    }
    column
}

/// Shortens a column of nothing but NULL to none.
pub(crate) fn not_at_all<T>(mut column: Vec<Option<T>>) -> Vec<Option<T>> {
    if column.iter().all(Option::is_none) {
        column.clear();
    }
    column
}

/// The parameters of a statement, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::params::typed(&$value)),*]
    };
}
pub(crate) use params;
