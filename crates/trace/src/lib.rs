//! The recorded past as data.
