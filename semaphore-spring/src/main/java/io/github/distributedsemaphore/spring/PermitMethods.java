package io.github.distributedsemaphore.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/**
 * Finds the methods of a class that {@link WithPermit} is on, and refuses what no proxy can reach. Spring asks for every bean that it
 * makes, so that a mistake stops the start.
 */
final class PermitMethods extends StaticMethodMatcherPointcut {
    private final ConfigurableListableBeanFactory beanFactory;
    private final Duration defaultMaxWait;
    private final Map<Class<?>, Map<Method, PermitMethod>> found = new ConcurrentHashMap<>();

    PermitMethods(ConfigurableListableBeanFactory beanFactory, Duration defaultMaxWait) {
        this.beanFactory = beanFactory;
        this.defaultMaxWait = defaultMaxWait;
        setClassFilter(type -> !of(type).isEmpty());
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        return find(method, targetClass) != null;
    }

    /** The rule for a call, which exists where {@link #matches} says so. */
    PermitMethod of(MethodInvocation call) {
        Object target = call.getThis();
        Class<?> type = target == null ? call.getMethod().getDeclaringClass() : target.getClass();
        PermitMethod rule = find(call.getMethod(), type);
        if (rule == null) {
            throw new IllegalStateException("No @WithPermit on " + call.getMethod() + " of " + type);
        }
        return rule;
    }

    private @Nullable PermitMethod find(Method method, Class<?> targetClass) {
        Map<Method, PermitMethod> methods = of(targetClass);
        if (methods.isEmpty()) {
            return null;
        }
        PermitMethod rule = methods.get(inClass(method, targetClass));
        // The target may be a proxy of the JDK itself, such as a repository, whose rules are those of its interfaces.
        return rule == null ? methods.get(method) : rule;
    }

    /** What a call of a method runs in a class. A generic interface has the method with other parameter types. */
    private static Method inClass(Method method, Class<?> type) {
        return AopUtils.getMostSpecificMethod(method, ClassUtils.getUserClass(type));
    }

    /** The methods of a class or of the class that a proxy of CGLIB extends. */
    Map<Method, PermitMethod> of(Class<?> type) {
        Class<?> userClass = ClassUtils.getUserClass(type);
        // Not computeIfAbsent: to parse a template may make a bean, which asks again.
        Map<Method, PermitMethod> known = found.get(userClass);
        if (known == null) {
            known = AnnotationUtils.isCandidateClass(userClass, WithPermit.class) ? parse(userClass) : Map.of();
            found.put(userClass, known);
        }
        return known;
    }

    private Map<Method, PermitMethod> parse(Class<?> type) {
        return MethodIntrospector.selectMethods(type, (Method method) -> {
            WithPermit rule = AnnotatedElementUtils.findMergedAnnotation(method, WithPermit.class);
            if (rule == null) {
                return null;
            }
            requireReachable(method, type);
            return new PermitMethod(method, type, rule, defaultMaxWait, beanFactory);
        });
    }

    private static void requireReachable(Method method, Class<?> type) {
        String obstacle = obstacle(method, type);
        if (!obstacle.isEmpty()) {
            throw new IllegalStateException("@WithPermit has no effect on " + method.toGenericString() + ": it is "
                    + obstacle + ", so that the proxy of the bean cannot reach it. Change that, or call"
                    + " DistributedSemaphore.withPermit in its body");
        }
    }

    /** Why a proxy cannot reach a method; empty if it can. */
    private static String obstacle(Method method, Class<?> type) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers)) {
            return "private";
        } else if (Modifier.isStatic(modifiers)) {
            return "static";
        } else if (Modifier.isFinal(modifiers)) {
            return "final";
        } else if (Modifier.isFinal(type.getModifiers())
                && !isInInterface(method, type, ClassUtils.getAllInterfacesForClass(type))) {
            return "in the final " + (type.isRecord() ? "record " : "class ") + type.getName();
        }
        return isForeign(method, type) ? "visible in a package only that is not that of " + type.getName() : "";
    }

    private static boolean isForeign(Method method, Class<?> type) {
        int visible = Modifier.PUBLIC | Modifier.PROTECTED;
        return (method.getModifiers() & visible) == 0
                && !method.getDeclaringClass().getPackageName().equals(type.getPackageName());
    }

    /** Whether a call through one of the interfaces runs a method of a class, as {@link #find} sees it. */
    static boolean isInInterface(Method method, Class<?> type, Class<?>... interfaces) {
        // Spring also shows the bridge that the compiler makes for a generic interface, with the annotation.
        Method own = inClass(method, type);
        return Arrays.stream(interfaces)
                .flatMap(one -> Arrays.stream(one.getMethods()))
                .anyMatch(called -> inClass(called, type).equals(own));
    }
}
