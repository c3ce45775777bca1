"""The producers of Benchmarks/hosts: lists by `larder enqueue`, and single URLs by SQL, while servers fail."""
import select, threading, time

import psycopg2, psycopg2.extensions

LIST = 1000


def wait(session):
    """psycopg2's wait, with an end: behind the pooler a dead server does not end the connection."""
    while (state := session.poll()) != psycopg2.extensions.POLL_OK:
        reading = state == psycopg2.extensions.POLL_READ
        if not any(select.select([session] if reading else [], [] if reading else [session], [], 20)):
            raise psycopg2.OperationalError("no answer within 20 s")


psycopg2.extensions.set_wait_callback(wait)


class Producers:
    """`acknowledged`: URLs that were reported as enqueued. `repeated`: calls that were sent again. `resent`: single
    URLs that were acknowledged and then lost, and were sent again.
    """

    def __init__(self, scene, urls):
        self.scene, self.acknowledged, self.repeated, self.resent, self.errors = scene, set(), 0, 0, []
        self.singles, self.rest = urls[::10], [url for number, url in enumerate(urls) if number % 10]
        self.threads = [
            threading.Thread(target=self.guard, args=(body,), daemon=True) for body in (self.lists, self.single)]
        for thread in self.threads:
            thread.start()

    @property
    def are_done(self):
        return not any(thread.is_alive() for thread in self.threads)

    def guard(self, body):
        try:
            body()
        except Exception as error:
            self.errors.append(f"producer {body.__name__}: {error!r}")

    def lists(self):
        """A batch for each thousand URLs; the next once there are fewer than a thousand open items."""
        for start in range(0, len(self.rest), LIST):
            while self.scene.open_items >= LIST and not self.scene.over:
                time.sleep(0.2)
            urls, name = self.rest[start:start + LIST], f"list-{start // LIST}"
            file = f"{self.scene.home}/{name}"
            with open(file, "w") as lines:
                lines.write("\n".join(urls) + "\n")
            self.enqueue(name, file)
            self.acknowledged.update(urls)

    def complete_lists(self, sealed):
        """Enqueues again the lists whose batch is not sealed or not there: the command continues after what is."""
        for start in range(0, len(self.rest), LIST):
            name = f"list-{start // LIST}"
            if name not in sealed:
                self.enqueue(name, f"{self.scene.home}/{name}")

    def enqueue(self, name, file):
        """Repeats the command until it succeeds, as it says that one may."""
        scene = self.scene
        while not scene.over:
            child = scene.producer.start(
                scene.larder, "enqueue", "--quiet", "--from", file, "--batch", name, "--pipeline", "small",
                log=f"{scene.home}/producer.log", environment=scene.environment(scene.producer))
            if child.wait(300) == 0:
                return
            self.repeated += 1
            time.sleep(1)
        raise RuntimeError(f"{name} was not enqueued")

    def single(self):
        """One URL a call, as the items of one list: a call that took effect unseen is refused when it is repeated."""
        session, sent = None, 0
        while sent < len(self.singles):
            if self.scene.over:
                raise RuntimeError(f"{len(self.singles) - sent} single URLs were not enqueued")
            # A little ahead of the workers, so that some are sent during each fault.
            if sent > len(self.singles) * (self.scene.share + 0.1):
                time.sleep(0.05)
                continue
            try:
                session = session or self.scene.database.connect(self.scene.database.url)
                cursor = session.cursor()
                cursor.execute(
                    "SELECT answer FROM larder.enqueue_many(ARRAY[%s], batch => 'singles', pipeline => 'small', "
                    "source => 'singles', source_from => %s)", (self.singles[sent], sent))
                if cursor.fetchall() != [("inserted",)]:
                    raise RuntimeError(f"{self.singles[sent]} was not inserted")
                self.acknowledged.add(self.singles[sent])
                sent += 1
            except psycopg2.Error as error:
                self.repeated += 1
                if error.pgcode == "LA009":
                    # One more than was acknowledged, or fewer, which a promotion has lost: those are sent again.
                    cursor.execute("SELECT urls FROM larder.batch_source('singles', 'singles')")
                    [(stored,)] = cursor.fetchall()
                    self.acknowledged.update(self.singles[sent:stored])
                    self.resent += max(0, sent - stored)
                    sent = stored
                    continue
                session = None
                time.sleep(0.5)
