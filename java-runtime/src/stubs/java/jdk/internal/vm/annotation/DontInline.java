package jdk.internal.vm.annotation;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** HotSpot never inlines the method; only compiled against, never packaged. */
@Retention(RetentionPolicy.RUNTIME)
public @interface DontInline {}
