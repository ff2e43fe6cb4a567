//! Classes as the application's own loader finds them, read without asking it.
//!
//! A loader that is asked for a class file takes hundreds of microseconds; its class path is known and can be read in ten. What is
//! not found here is for the loader to say: a class path can be appended to while the JVM runs.

use std::path::PathBuf;
use std::sync::OnceLock;

use class_source::ApplicationClassPath;

use crate::jvm::Jvmti;

/// The class path of the application's loader, opened when it is first needed.
#[derive(Debug, Default)]
pub(super) struct ApplicationTypes {
    path: OnceLock<Option<ApplicationClassPath>>,
}

/// Where one of these is set, the application's loader does more than to follow its class path.
const SPECIAL: [&std::ffi::CStr; 6] = [
    c"jdk.module.path",
    c"jdk.module.main",
    c"jdk.module.upgrade.path",
    c"sun.misc.URLClassPath.enableJarIndex",
    c"jdk.util.jar.version",
    c"jdk.util.jar.enableMultiRelease",
];

impl ApplicationTypes {
    /// The class file that the loader would find, if it can be told without asking.
    pub(super) fn class(&self, jvmti: Jvmti, name: &[u8]) -> Option<Vec<u8>> {
        self.path.get_or_init(|| open(jvmti)).as_ref()?.find(name)
    }
}

fn open(jvmti: Jvmti) -> Option<ApplicationClassPath> {
    if SPECIAL.iter().any(|name| jvmti.system_property(name).is_some()) {
        return None;
    }
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    let split = |path: &str| path.split(':').map(PathBuf::from).collect::<Vec<_>>();
    let appended_to_boot = property(c"jdk.boot.class.path.append");
    let boot = if appended_to_boot.is_empty() { Vec::new() } else { split(&appended_to_boot) };
    let path = split(&property(c"java.class.path"));
    let started = std::time::Instant::now();
    let release = u16::try_from(jvmti.java_version()).unwrap_or(0);
    let opened = ApplicationClassPath::open(&boot, &path, release);
    tracing::debug!(classes = opened.class_count(), took = ?started.elapsed(), "the class path is known");
    Some(opened)
}
