//! Classes, their loaders and methods: what the JVM knows of them, and having loaded ones rewritten.

pub(super) mod class_origin;
pub(super) mod class_resource;
pub(super) mod loaded_classes;
pub(super) mod loader_id;
pub(super) mod method_facts;
pub(super) mod object_fields;
