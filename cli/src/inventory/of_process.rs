//! What the classes of a running JVM carry.

use anyhow::Result;
use control::{InventoryClass, InventoryDone, Request};

use super::Inventory;
use crate::running_agent::ask_in_parts;

/// Asks the agent in the JVM with this process id for its inventory.
pub(crate) fn inventory(pid: u32, request: &Request) -> Result<Inventory> {
    let (classes, done) = ask_in_parts::<InventoryClass, InventoryDone>(pid, request)?;
    let mut inventory = Inventory { left_out: done.left_out, ..Inventory::default() };
    classes.into_iter().for_each(|class| inventory.add(class));
    Ok(inventory)
}
