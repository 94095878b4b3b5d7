"""Workers of the other kind: the protocol of the Node package redis-locking-worker in plain commands, flaws included.

usage: python3 foreign_worker.py PORT LOCK_TIMEOUT_MS (steered|timed)

A line "KEY hire MAX_ATTEMPTS" begins a worker with a connection of its own; more lines "KEY WORD" are for that worker. It
tells what happens in lines "KEY EVENT": "locked", "waiting", "acquired true|false", "max-attempts", "end", "error ...".
After "acquired" it reads a word: "done" records the end, anything else leaves the job. If it is steered, it also reads a
word after "waiting", which stands for the lock timeout; else it waits for that time.
"""

import queue
import re
import socket
import sys
import threading
import time

DONE = "DONE"
TELLING = threading.Lock()


class Connection:
    """One connection for everything that a worker does, as the package has it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.replies = self.socket.makefile("rb")

    def ask(self, *words):
        request = "*%d\r\n" % len(words)
        for word in words:
            request += "$%d\r\n%s\r\n" % (len(word.encode()), word)
        self.socket.sendall(request.encode())
        return self.reply()

    def reply(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server is gone")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return RuntimeError(rest)
        size = int(rest)
        if size < 0:
            return None
        if kind == b"*":
            return [self.reply() for _ in range(size)]
        return self.replies.read(size + 2)[:-2].decode()


def parse_int(text):
    """As in JavaScript; None stands for NaN."""
    digits = re.match(r"\s*([+-]?\d+)", text)
    return int(digits.group(1)) if digits else None


def in_javascript(number):
    """A number as JavaScript writes it."""
    if number is None:
        return "NaN"
    return str(int(number)) if number == int(number) else repr(number)


class Worker:
    def __init__(self, port, key, lock_timeout, max_attempts, steered):
        self.port = port
        self.words = queue.Queue()
        self.key = key
        self.lock_timeout = lock_timeout
        self.max_attempts = max_attempts
        self.steered = steered

    def run(self):
        try:
            self.redis = Connection(self.port)
            self.acquire()
        except OSError as failure:
            self.tell("error " + str(failure))
        self.tell("end")

    def tell(self, event):
        with TELLING:
            print(self.key, event, flush=True)

    def acquire(self):
        if self.redis.ask("SETNX", self.key, "1") == 1:
            return self.acquired(False)
        self.tell("locked")
        last = "1"
        while last is not None:
            self.wait()
            last = self.check(last)

    def wait(self):
        self.tell("waiting")
        if self.steered:
            self.words.get()
        else:
            time.sleep(self.lock_timeout / 1000)

    def check(self, last):
        """Returns the value to compare with next time, or None if this worker's part is over."""
        self.redis.ask("WATCH", self.key)
        self.redis.ask("MULTI")
        self.redis.ask("GET", self.key)
        replies = self.redis.ask("EXEC")
        if replies is None:
            return self.redis.ask("GET", self.key)
        current = replies[0]
        if current is None:
            return None
        if current == DONE:
            self.redis.ask("DEL", self.key)
            return None
        if current == last:
            return self.reacquire()
        return current

    def reacquire(self):
        self.redis.ask("WATCH", self.key)
        current = self.redis.ask("GET", self.key)
        if current is None:
            return None  # The watch stays.
        attempts = parse_int(current)
        attempts = None if attempts is None else attempts + 1
        if attempts is not None and attempts > self.max_attempts:
            self.tell("max-attempts")
            self.redis.ask("UNWATCH")
            expiry = in_javascript(self.lock_timeout / 1000 * 2)
            refusal = self.redis.ask("EXPIRE", self.key, expiry)
            if isinstance(refusal, Exception):
                self.tell("error " + str(refusal))
            return None
        self.redis.ask("MULTI")
        self.redis.ask("SET", self.key, in_javascript(attempts))
        if self.redis.ask("EXEC") is None:
            self.tell("locked")
            return self.redis.ask("GET", self.key)
        return self.acquired(attempts == self.max_attempts)

    def acquired(self, last_attempt):
        self.tell("acquired " + ("true" if last_attempt else "false"))
        if self.words.get() == "done":
            self.done(last_attempt)

    def done(self, last_attempt):
        if last_attempt:
            self.redis.ask("DEL", self.key)
        else:
            self.redis.ask("SET", self.key, DONE)


def main():
    port, lock_timeout, mode = sys.argv[1:]
    workers = {}
    for line in sys.stdin:
        key, word, *arguments = line.split()
        if word == "hire":
            workers[key] = Worker(int(port), key, int(lock_timeout), int(arguments[0]), mode == "steered")
            threading.Thread(target=workers[key].run, daemon=True).start()
        else:
            workers[key].words.put(word)


main()
