package io.github.distributedsemaphore.cli.demo;

import java.util.List;
import java.util.Map;

/** Where the demonstration is to be seen. For one thread. */
interface Screen {
    /**
     * What is the case at one moment.
     *
     * @param seconds since the workers began
     * @param holders by slot the permit that is held, those free left out; an ended one is of a holder that was killed
     * @param waiting the workers that wait
     * @param news what has happened since the start that is worth a line, oldest first
     */
    record Picture(double seconds, Map<Integer, Turn> holders, List<Integer> waiting, List<String> news) {}

    /** Shows a moment. Called often: a screen decides itself how much of it to show. */
    void show(Picture picture);

    /** Shows the last moment and leaves the terminal as it was found. */
    void close();
}
