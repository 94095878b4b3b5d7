package io.github.distributedsemaphore.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/**
 * Who may know whom. Here because the command is the one module that sees all others; an adapter needs no entry, every
 * module that is not named below is held to be one. That no exported type of the API shows an internal one in its
 * signatures is the compiler's to check ({@code -Xlint:exports}).
 */
@AnalyzeClasses(packages = ModuleRulesTest.ROOT, importOptions = ImportOption.DoNotIncludeTests.class)
final class ModuleRulesTest {
    static final String ROOT = "io.github.distributedsemaphore";

    private static final Set<String> API_PACKAGES = Set.of("", "guarantees", "spi", "internal");
    private static final Set<String> ADAPTERS_MAY_USE = Set.of("api");
    private static final Map<String, Set<String>> OTHERS_MAY_USE = Map.of("api", Set.of());
    private static final Set<String> USE_EVERYTHING = Set.of("cli", "benchmarks");

    @ArchTest
    static final ArchRule adaptersAndTheKitDependOnTheApiOnlyAndTheApiOnNoneOfThem = classes()
            .that(belongToTheProject())
            .should(onlyReach("modules it may use", (from, to) -> mayUse(moduleOf(from), moduleOf(to))));

    /** The most files of a package. */
    private static final int MOST_FILES = 22;

    /** Packages that were larger when the limit came: they may shrink, and then the number here shrinks with them. */
    private static final Map<String, Integer> LARGER =
            Map.of("", 33, ".internal", 36, ".cli", 31, ".consul", 27, ".local", 33);

    @ArchTest
    static void packagesHaveRoomsThatOneFindsAtFirstLook(JavaClasses types) {
        Map<String, Long> files = types.stream()
                .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(JavaClass::getPackageName, TreeMap::new, Collectors.counting()));
        assertThat(files)
                .isNotEmpty()
                .allSatisfy((name, count) -> assertThat(count)
                        .as("files of package %s", name)
                        .isLessThanOrEqualTo(LARGER.getOrDefault(name.substring(ROOT.length()), MOST_FILES)));
        LARGER.forEach((name, allowed) -> assertThat(files.get(ROOT + name))
                .as("files of package %s, for which %s are allowed here: take the lower number", name, allowed)
                .isEqualTo(allowed.longValue()));
    }

    @ArchTest
    static final ArchRule lettuceIsKnownToTheConnectionsOnly = noClasses()
            .that()
            .resideInAPackage(ROOT + ".redis")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.lettuce..", "io.netty..");

    @ArchTest
    static final ArchRule theConnectionsKnowNoSlots = noClasses()
            .that()
            .resideInAPackage(ROOT + ".redis.net")
            .should()
            .dependOnClassesThat()
            .resideInAPackage(ROOT + ".redis");

    @ArchTest
    static final ArchRule internalPackagesAreUsedByTheirOwnModuleOnly = classes()
            .that(belongToTheProject())
            .should(onlyReach(
                    "internal packages of its own module",
                    (from, to) -> !isInternal(to) || moduleOf(from).equals(moduleOf(to)) || isTestDouble(from, to)));

    /** The test double brings time and threads of its own, by the one type of the engine that is made for it. */
    private static boolean isTestDouble(JavaClass from, JavaClass to) {
        return moduleOf(from).equals("test") && to.getFullName().startsWith(ROOT + ".internal.Environment");
    }

    private static boolean mayUse(String from, String to) {
        return from.equals(to)
                || USE_EVERYTHING.contains(from)
                || OTHERS_MAY_USE.getOrDefault(from, ADAPTERS_MAY_USE).contains(to);
    }

    private static boolean isInternal(JavaClass type) {
        return List.of(type.getPackageName().split("\\.")).contains("internal");
    }

    /** The API owns the root package; any other module is called as the package below the root that it owns. */
    private static String moduleOf(JavaClass type) {
        String below = type.getPackageName().substring(ROOT.length());
        String first = below.isEmpty() ? "" : below.substring(1).split("\\.")[0];
        if (first.equals("memory")) {
            return "test";
        }
        return API_PACKAGES.contains(first) ? "api" : first;
    }

    private static DescribedPredicate<JavaClass> belongToTheProject() {
        return DescribedPredicate.describe(
                "belong to the project", type -> type.getPackageName().startsWith(ROOT));
    }

    private static ArchCondition<JavaClass> onlyReach(String what, BiPredicate<JavaClass, JavaClass> allowed) {
        return new ArchCondition<>("only reach " + what) {
            @Override
            public void check(JavaClass from, ConditionEvents events) {
                for (Dependency dependency : from.getDirectDependenciesFromSelf()) {
                    JavaClass to = dependency.getTargetClass().getBaseComponentType();
                    if (to.getPackageName().startsWith(ROOT) && !allowed.test(from, to)) {
                        events.add(SimpleConditionEvent.violated(dependency, dependency.getDescription()));
                    }
                }
            }
        };
    }
}
