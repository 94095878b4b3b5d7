package io.github.distributedsemaphore.tck.rulebook;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Says which rules of the {@linkplain RuleBook rule book} a test of the kit shows. */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Rule {
    /**
     * The rules.
     *
     * @return their ids, such as {@code 2.2}; the first one leads the name of the test
     */
    String[] value();
}
