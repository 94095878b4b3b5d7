package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.history.Sometimes;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A kind of fault that a history is recorded under. */
public enum FaultShape {
    /** Connections are reset. */
    RESET(Place.LINK, Fault.LINK_CUT),
    /** Connections are closed in order. */
    FINISH(Place.LINK, Fault.LINK_CUT),
    /** Connections are reset, and for a while none can be made. */
    REFUSED(Place.LINK, Fault.LINK_CUT),
    /** Nothing comes through for a while, and all of it later. */
    STALLED(Place.LINK, Fault.LINK_CUT),
    /** What clients send is lost for a while. */
    REQUESTS_LOST(Place.LINK, Fault.LINK_CUT),
    /** What the backend sends is lost for a while. */
    ANSWERS_LOST(Place.LINK, Fault.LINK_CUT),
    /** One answer is lost, after its request was carried out. */
    ANSWER_LOST(Place.LINK, Fault.LINK_CUT),
    /** Everything is late, and unevenly. */
    SLOW(Place.LINK, Fault.LINK_CUT),
    /** A client cannot reach the backend for longer than its permits live. */
    LONG_CUT(Place.LINK, Fault.LINK_CUT),
    /** The backend is stopped in order and started again with its data. */
    SERVER_STOPPED(Place.SERVER, Fault.BACKEND_RESTART),
    /** The backend is killed and started again with its data. */
    SERVER_KILLED(Place.SERVER, Fault.BACKEND_RESTART),
    /** The backend answers with errors. */
    SERVER_ERRORS(Place.SERVER, null),
    /** A process that holds a permit is killed. */
    HOLDER_KILLED(Place.PROCESS, Fault.CLIENT_CRASH),
    /** A process that holds a permit is stopped and goes on, also after the end of its validity. */
    HOLDER_STOPPED(Place.PROCESS, Fault.CLIENT_PAUSE),
    /** No fault, but the limit changes all the time. */
    RESIZED(Place.NOWHERE, null);

    /** Where the fault is brought about. */
    public enum Place {
        /** On the way to the backend: level 2. */
        LINK,
        /** At a server of the kit's own: level 3. */
        SERVER,
        /** In another process: level 1. */
        PROCESS,
        /** Needs nothing. */
        NOWHERE
    }

    private final Place place;
    private final @Nullable Fault fault;

    FaultShape(Place place, @Nullable Fault fault) {
        this.place = place;
        this.fault = fault;
    }

    public Place place() {
        return place;
    }

    /** What has happened with each fault of this kind that took effect. */
    public Set<Sometimes> reaches() {
        return switch (this) {
            case RESET, FINISH, REFUSED -> EnumSet.of(Sometimes.CUT_SHORTLY);
            case LONG_CUT -> EnumSet.of(Sometimes.CUT_FOR_LONG);
            default -> EnumSet.noneOf(Sometimes.class);
        };
    }

    /** What must happen now and then in a history under this kind of fault, or it has not seen what the fault can do. */
    public Set<Sometimes> expects(Guarantees guarantees) {
        Set<Sometimes> expected = Sometimes.underContention();
        switch (this) {
            case LONG_CUT -> {
                if (guarantees.has(Capability.CRASH_RELEASE)) {
                    expected.addAll(EnumSet.of(Sometimes.LOST, Sometimes.RELEASED_AFTER_LOSS));
                }
            }
            case ANSWERS_LOST, SERVER_KILLED ->
                expected.addAll(EnumSet.of(Sometimes.ACQUIRE_BROKEN_OFF, Sometimes.RELEASE_BROKEN_OFF));
            case HOLDER_KILLED -> expected.add(Sometimes.KILLED_HOLDING);
            case HOLDER_STOPPED -> {
                if (guarantees.has(Capability.LEASE)) {
                    expected.add(Sometimes.STOPPED_BEYOND_VALIDITY);
                }
            }
            case RESIZED -> expected.add(Sometimes.RESIZED_UNDER_HOLDERS);
            default -> {}
        }
        return expected;
    }

    /** For which fault a backend may declare an exposure. */
    public Optional<Fault> fault() {
        return Optional.ofNullable(fault);
    }
}
