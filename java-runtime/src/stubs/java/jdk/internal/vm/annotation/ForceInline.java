package jdk.internal.vm.annotation;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** HotSpot inlines the method whatever its size; only compiled against, never packaged. */
@Retention(RetentionPolicy.RUNTIME)
public @interface ForceInline {}
