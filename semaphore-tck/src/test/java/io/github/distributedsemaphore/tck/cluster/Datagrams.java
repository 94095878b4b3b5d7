package io.github.distributedsemaphore.tck.cluster;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;

/** Prints what arrives at a host, or sends something to one, without an answer. */
final class Datagrams {
    private static final int PORT = 9_999;

    private Datagrams() {}

    /** Arguments: none to print what arrives, or an address and a text to send there. */
    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            listen();
        }
        try (DatagramSocket socket = new DatagramSocket()) {
            byte[] text = args[1].getBytes(StandardCharsets.US_ASCII);
            socket.send(new DatagramPacket(text, text.length, InetAddress.getByName(args[0]), PORT));
        }
    }

    private static void listen() throws Exception {
        try (DatagramSocket socket = new DatagramSocket(PORT)) {
            System.out.println("listening");
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[100], 100);
                socket.receive(packet);
                System.out.println(new String(packet.getData(), 0, packet.getLength(), StandardCharsets.US_ASCII));
            }
        }
    }
}
