//! Modules, jars and class loaders.

use instrument_core::selection::{ClassOrigin, OriginAnswer};

use crate::{Case, case};

/// What is known of the origin of a class.
struct Origin {
    module: Option<&'static str>,
    jar: Option<&'static str>,
    loader: &'static [&'static str],
}

impl ClassOrigin for Origin {
    fn module(&self) -> OriginAnswer<String> {
        self.module.map(str::to_owned).ok_or("it is in no named module")
    }

    fn jar(&self) -> OriginAnswer<String> {
        self.jar.map(str::to_owned).ok_or("it has no code source")
    }

    fn loader(&self) -> OriginAnswer<Vec<String>> {
        Ok(self.loader.iter().map(|name| (*name).to_owned()).collect())
    }
}

const APP: &[&str] = &["app", "jdk.internal.loader.ClassLoaders$AppClassLoader"];
const CLASS_PATH: &Origin = &Origin { module: None, jar: Some("shop-1.2.jar"), loader: APP };
const MODULE_PATH: &Origin = &Origin { module: Some("com.acme.shop"), jar: Some("shop-1.2.jar"), loader: APP };
const WEB: &Origin =
    &Origin { module: None, jar: Some("classes"), loader: &["org.apache.catalina.loader.ParallelWebappClassLoader"] };
const BOOT: &Origin = &Origin { module: Some("java.base"), jar: None, loader: &["boot"] };

const fn from(origin: &'static Origin, case: Case) -> Case {
    Case { origin, ..case }
}

pub(crate) const CASES: &[Case] = &[
    from(
        CLASS_PATH,
        case(
            "a jar by its version",
            "types/Direct",
            "jar = 'shop-*.jar'",
            &["handle"],
            &[("class", "`shop-*.jar` names its jar `shop-1.2.jar`")],
        ),
    ),
    from(
        CLASS_PATH,
        case(
            "a jar that is excluded",
            "types/Direct",
            "jar = ['*', '!shop-1.*']",
            &[],
            &[("class", "`!shop-1.*` excludes its jar `shop-1.2.jar`")],
        ),
    ),
    from(
        CLASS_PATH,
        case(
            "the class path is no module",
            "types/Direct",
            "module = '*'",
            &[],
            &[("class", "its module cannot match: it is in no named module")],
        ),
    ),
    from(MODULE_PATH, case("a module by its beginning", "types/Direct", "module = 'com.acme.*'", &["handle"], &[])),
    from(
        MODULE_PATH,
        case(
            "another module",
            "types/Direct",
            "module = 'com.acme'",
            &[],
            &[("class", "no pattern of `module` matches `com.acme.shop`")],
        ),
    ),
    from(CLASS_PATH, case("a loader by its name", "types/Direct", "loader = 'app'", &["handle"], &[])),
    from(
        WEB,
        case(
            "a loader by its class, a directory as jar",
            "types/Direct",
            "loader = '*WebappClassLoader'\njar = 'classes'",
            &["handle"],
            &[],
        ),
    ),
    from(
        WEB,
        case(
            "all loaders but one",
            "types/Direct",
            "loader = ['*', '!*Webapp*']",
            &[],
            &[("class", "`!*Webapp*` excludes its loader")],
        ),
    ),
    from(
        BOOT,
        case(
            "a class of the boot loader is in no jar",
            "types/Direct",
            "jar = '*'",
            &[],
            &[("class", "its jar cannot match: it has no code source")],
        ),
    ),
    from(
        BOOT,
        case("a class of the boot loader", "types/Direct", "loader = 'boot'\nmodule = 'java.*'", &["handle"], &[]),
    ),
    from(
        CLASS_PATH,
        case(
            "origin and super type together",
            "types/Unrelated",
            "jar = '*'\nextends = 'types.Handler'",
            &[],
            &[("class", "does not extend or implement")],
        ),
    ),
];
