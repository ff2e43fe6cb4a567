/** Makes javac and jmod write every attribute of module descriptors. */
@Deprecated
open module sample {
    requires transitive java.logging;
    requires static java.xml;
    exports sample;
    exports sample.inner to java.logging, java.xml;
    uses Runnable;
    provides Runnable with sample.Main;
}
