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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.function.Function;
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
    private static final Map<String, Integer> LARGER = Map.of("", 33, ".internal", 23);

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

    /** Packages that knew each other in a circle when the rule came. */
    private static final List<Set<String>> KNOWN_CIRCLES = List.of(Set.of("", ".internal", ".spi", ".spi.support"));

    @ArchTest
    static void noPackagesOfAModuleKnowEachOtherInACircle(JavaClasses types) {
        List<Set<String>> circles = circles(
                types,
                type -> type.getPackageName().substring(ROOT.length()),
                (from, to) -> moduleOf(from).equals(moduleOf(to)));
        assertThat(circles)
                .allSatisfy(circle -> assertThat(KNOWN_CIRCLES)
                        .as("packages of one module that know each other in a circle: %s", circle)
                        .anyMatch(known -> known.containsAll(circle)));
    }

    /** The most files of the engine that know each other in a circle. */
    private static final int LARGEST_CIRCLE = 5;

    @ArchTest
    static void theEngineCanBeReadOneFileAfterTheOther(JavaClasses types) {
        List<Set<String>> circles =
                circles(types, ModuleRulesTest::fileOf, (from, to) -> isOfEngine(from) && isOfEngine(to));
        assertThat(circles)
                .isNotEmpty()
                .allSatisfy(circle -> assertThat(circle)
                        .as("files of the engine that know each other in a circle")
                        .hasSizeLessThanOrEqualTo(LARGEST_CIRCLE));
    }

    private static boolean isOfEngine(JavaClass type) {
        return type.getPackageName().equals(ROOT + ".internal");
    }

    private static String fileOf(JavaClass type) {
        return type.getEnclosingClass().map(ModuleRulesTest::fileOf).orElse(type.getName());
    }

    /** The sets of parts in which each reaches each other one. */
    private static List<Set<String>> circles(
            JavaClasses types, Function<JavaClass, String> partOf, BiPredicate<JavaClass, JavaClass> counts) {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass from : types) {
            for (Dependency dependency : from.getDirectDependenciesFromSelf()) {
                JavaClass to = dependency.getTargetClass().getBaseComponentType();
                if (from.getPackageName().startsWith(ROOT)
                        && to.getPackageName().startsWith(ROOT)
                        && counts.test(from, to)) {
                    uses.computeIfAbsent(partOf.apply(from), part -> new TreeSet<>())
                            .add(partOf.apply(to));
                }
            }
        }
        Map<String, Set<String>> reached = new TreeMap<>();
        uses.keySet().forEach(part -> reached.put(part, reachedFrom(part, uses)));
        return reached.keySet().stream()
                .map(part -> reached.get(part).stream()
                        .filter(other -> reached.getOrDefault(other, Set.of()).contains(part))
                        .collect(Collectors.toSet()))
                .filter(circle -> circle.size() > 1)
                .distinct()
                .toList();
    }

    private static Set<String> reachedFrom(String part, Map<String, Set<String>> uses) {
        Set<String> reached = new TreeSet<>();
        Deque<String> open = new ArrayDeque<>(uses.getOrDefault(part, Set.of()));
        while (!open.isEmpty()) {
            String next = open.remove();
            if (reached.add(next)) {
                open.addAll(uses.getOrDefault(next, Set.of()));
            }
        }
        return reached;
    }

    @ArchTest
    static final ArchRule lettuceIsKnownToTheConnectionsOnly = noClasses()
            .that()
            .resideInAnyPackage(ROOT + ".redis", ROOT + ".redis.worklock")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.lettuce..", "io.netty..");

    @ArchTest
    static final ArchRule theConnectionsKnowNoSlots = noClasses()
            .that()
            .resideInAnyPackage(ROOT + ".redis.net", ROOT + ".rabbitmq.net", ROOT + ".consul.net")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(ROOT + ".redis", ROOT + ".redis.worklock", ROOT + ".rabbitmq", ROOT + ".consul");

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
