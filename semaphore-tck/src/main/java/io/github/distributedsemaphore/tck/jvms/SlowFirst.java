package io.github.distributedsemaphore.tck.jvms;

import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.ClassDescriptor;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.ClassOrdererContext;

/** Begins with the sections that wait most, so that none of them is left for the end, when the other JVMs have nothing to do. */
public final class SlowFirst implements ClassOrderer {
    private static final List<String> SLOW = List.of(
            "Crash",
            "Outage",
            "Isolation",
            "CrossProcess",
            "WakeUp",
            "BriefFault",
            "Cut",
            "Restart",
            "StoppedServer",
            "Stall",
            "Pause",
            "Traffic",
            "LostAnswer",
            "LostAdministration",
            "Input",
            "Arrival",
            "Loss",
            "Renewal",
            "FaultHistory",
            "FailOver",
            "Resize",
            "Crowd",
            "Leaving",
            "Async",
            "Interrupt",
            "Safety",
            "Errors",
            "Storm",
            "Fencing");

    /** For JUnit. */
    public SlowFirst() {}

    @Override
    public void orderClasses(ClassOrdererContext context) {
        context.getClassDescriptors()
                .sort(Comparator.comparingInt((ClassDescriptor section) ->
                        place(section.getTestClass().getSimpleName())));
    }

    static int place(String section) {
        int place = SLOW.indexOf(section);
        return place < 0 ? SLOW.size() : place;
    }
}
