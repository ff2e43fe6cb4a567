//! Whether rows can be appended to a class's `BootstrapMethods` without healing what a JVM refuses.

use classfile::attributes::{BootstrapMethod, Structure, Table};
use classfile::{ClassFile, Error, ErrorKind, Result};

/// Fails if there are two tables, if the one is not as long as it says, or if a constant names one of the rows to come; `existing`
/// is the number of rows that there are.
pub(super) fn check(class: &ClassFile<'_>, existing: u16) -> Result<()> {
    let mut tables = 0;
    for attribute in class.attributes() {
        let attribute = attribute?;
        if attribute.name == "BootstrapMethods" {
            tables += 1;
            let mut reader = attribute.reader("BootstrapMethods");
            Table::<BootstrapMethod<'_>>::read(&mut reader, 0)?;
            reader.expect_end()?;
        }
    }
    let bad = |context| Error::new(ErrorKind::BadValue, class.attributes_offset(), context);
    if tables > 1 {
        return Err(bad("second BootstrapMethods"));
    }
    let mut is_outside = false;
    class.constant_pool().visit_contents(|_, tag, content| {
        let row = content.first_chunk::<2>().map_or(0, |row| u16::from_be_bytes(*row));
        is_outside |= matches!(tag, 17 | 18) && row >= existing;
    });
    if is_outside { Err(bad("row of BootstrapMethods")) } else { Ok(()) }
}
