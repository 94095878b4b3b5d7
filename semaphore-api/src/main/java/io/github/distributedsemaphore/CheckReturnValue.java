package io.github.distributedsemaphore;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The result must not be dropped: a permit that nobody has stays held until its client ends. Error Prone, SpotBugs and the
 * inspections of IntelliJ IDEA know the annotation by its simple name.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
public @interface CheckReturnValue {}
