package kotlinx.coroutines.flow;

/** Stands for the type of Kotlin, which is not on this path. */
public interface Flow {}
