"""Workers and producers of job queues on Postgres, each by the documentation of its library, for the script queues."""
import asyncio, json, os, subprocess, sys, threading, time

CHUNK = 1000  # Jobs of a call, or of a transaction.
HOLD = 2  # Seconds that a job of the test with kill -9 takes.


class Counter:
    """The jobs that a worker has run. With a file it notes each job's end there, and jobs take HOLD seconds."""

    def __init__(self, file=None):
        self.done, self.file = 0, file
        print("ready", flush=True)
        threading.Thread(target=self.tell, daemon=True).start()

    def tell(self):
        while True:
            time.sleep(0.01)
            print(self.done, flush=True)

    def began(self, job):
        if self.file:
            self.note(f"began {job}")

    def ended(self, job):
        if self.file:
            self.note(f"ended {job}")
        self.done += 1

    def note(self, text):
        with open(self.file, "a") as file:
            file.write(f"{text} {os.getpid()} {time.time()}\n")

    async def run(self, job):
        self.began(job)
        if self.file:
            await asyncio.sleep(HOLD)
        self.ended(job)

    def block(self, job):
        self.began(job)
        if self.file:
            time.sleep(HOLD)
        self.ended(job)


class Larder:
    claims, share = r"larder\.claim_v1", 1

    def connect(self, url):
        import psycopg

        return psycopg.connect(url, autocommit=True)

    def install(self, url):
        subprocess.run([os.environ["LARDER"], "migrate", "--database", url], check=True, stdout=subprocess.DEVNULL)

    def enqueue(self, url, jobs):
        with self.connect(url) as connection:
            for n in range(0, jobs, CHUNK):
                urls = [f"https://images.example/{n + k}.jpg" for k in range(min(CHUNK, jobs - n))]
                connection.execute("SELECT count(*) FROM larder.enqueue_many(%s, batch => 'peers')", (urls,))

    def work(self, url, count):
        connection, number = self.connect(url), [1]
        [worker] = connection.execute("SELECT worker_id FROM larder.worker_start_v1('peer', 'host', 1, '1', 100)").fetchone()

        def serve():
            with self.connect(url) as own:
                while True:
                    own.execute("SELECT lease_ms FROM larder.heartbeat_v1(%s, %s)", (worker, number[0]))
                    own.execute("SELECT count(*) FROM larder.maintain(kind => 'urgent')")
                    time.sleep(0.75)

        threading.Thread(target=serve, daemon=True).start()
        while True:
            rows = connection.execute("SELECT job_id, url FROM larder.claim_v1(%s, %s, 100)", (worker, number[0])).fetchall()
            if not rows:
                time.sleep(0.05)
                continue
            for _, name in rows:
                count.began(name)
            if count.file:
                time.sleep(HOLD)
            results = [{"job": job, "claim": number[0], "result": "succeeded"} for job, _ in rows]
            connection.execute("SELECT count(*) FROM larder.complete_v1(%s, %s)", (worker, json.dumps(results)))
            for _, name in rows:
                count.ended(name)
            number[0] += 1


class Awa:
    claims, share = r"claim_(ready|runtime|jobs)|SKIP LOCKED", 1

    def install(self, url):
        from awa import AsyncClient

        async def run():
            client = AsyncClient(url)
            await client.migrate()
            await client.install_queue_storage(schema="awa")

        asyncio.run(run())

    @staticmethod
    def kind():
        import dataclasses

        return dataclasses.make_dataclass("Noop", [("n", int)])

    def enqueue(self, url, jobs):
        from awa import AsyncClient

        kind = self.kind()

        async def run():
            client = AsyncClient(url)
            for n in range(0, jobs, CHUNK):
                await client.enqueue_many_copy([kind(n + k) for k in range(min(CHUNK, jobs - n))], queue="peers")

        asyncio.run(run())

    def work(self, url, count):
        from awa import AsyncClient

        kind = self.kind()

        async def run():
            client = AsyncClient(url)

            @client.task(kind, queue="peers")
            async def noop(job):
                await count.run(job.args.n)

            await client.start([("peers", 100)])
            await asyncio.Event().wait()

        asyncio.run(run())


class PgQueuer:
    claims, share = r"SKIP LOCKED", 1

    @staticmethod
    async def open(url):
        import asyncpg
        from pgqueuer import PgQueuer as Application
        from pgqueuer.db import AsyncpgDriver

        return Application(AsyncpgDriver(await asyncpg.connect(url)))

    def install(self, url):
        async def run():
            await (await self.open(url)).qm.queries.install()

        asyncio.run(run())

    def enqueue(self, url, jobs):
        async def run():
            queries = (await self.open(url)).qm.queries
            for n in range(0, jobs, CHUNK):
                size = min(CHUNK, jobs - n)
                await queries.enqueue(["noop"] * size, [str(n + k).encode() for k in range(size)], [0] * size)

        asyncio.run(run())

    def work(self, url, count):
        async def run():
            application = await self.open(url)

            @application.entrypoint("noop")
            async def noop(job):
                await count.run(job.payload.decode())

            await application.run(batch_size=500)

        asyncio.run(run())


class Absurd:
    claims, share = r"claim_task", 0.1

    def install(self, url):
        command = os.path.dirname(sys.executable) + "/absurdctl"
        subprocess.run([command, "init"], env=dict(os.environ, ABSURD_DATABASE_URL=url), check=True, stdout=subprocess.DEVNULL)
        from absurd_sdk import Absurd as Client

        Client(url).create_queue("peers")

    def enqueue(self, url, jobs):
        import psycopg
        from absurd_sdk import Absurd as Client

        with psycopg.connect(url) as connection:
            client = Client(connection, queue_name="peers")
            for n in range(jobs):
                client.spawn("noop", {"n": n}, queue="peers")
                if n % CHUNK == CHUNK - 1:
                    connection.commit()
            connection.commit()

    def work(self, url, count):
        from absurd_sdk import Absurd as Client

        client = Client(url, queue_name="peers")

        @client.register_task(name="noop")
        def noop(parameters, context):
            count.block(parameters["n"])

        client.start_worker(concurrency=16, batch_size=16)


class Procrastinate:
    claims, share = r"procrastinate_fetch_job", 0.1

    @staticmethod
    def application(url, run=None):
        import logging, procrastinate

        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        application = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, max_size=20))

        @application.task(name="noop")
        async def noop(n):
            await run(n)

        @application.periodic(cron="* * * * *")
        @application.task(queueing_lock="stalled", pass_context=True, name="stalled")
        async def stalled(context, timestamp):
            for job in await application.job_manager.get_stalled_jobs():
                await application.job_manager.retry_job(job)

        return application, noop

    def install(self, url):
        async def run():
            application, _ = self.application(url)
            async with application.open_async():
                await application.schema_manager.apply_schema_async()

        asyncio.run(run())

    def enqueue(self, url, jobs):
        async def run():
            application, task = self.application(url)
            async with application.open_async():
                for n in range(0, jobs, CHUNK):
                    await task.batch_defer_async(*[{"n": n + k} for k in range(min(CHUNK, jobs - n))])

        asyncio.run(run())

    def work(self, url, count):
        async def run():
            application, _ = self.application(url, count.run)
            async with application.open_async():
                await application.run_worker_async(concurrency=100, install_signal_handlers=False)

        asyncio.run(run())


class Dbos:
    claims, share = r"SKIP LOCKED", 0.1

    def install(self, url):
        self.launch(url, None)
        self.close()

    @staticmethod
    def close():
        from dbos import DBOS

        DBOS.destroy()

    @staticmethod
    def launch(url, run):
        from dbos import DBOS

        url = url.replace("postgresql:", "postgresql+psycopg:")
        DBOS(config={"name": "peers", "system_database_url": url, "log_level": "ERROR", "application_version": "1",
                     "executor_id": os.environ.get("EXECUTOR", "0")})

        @DBOS.workflow(name="noop")
        def noop(n):
            run(n)

        DBOS.launch()
        DBOS.register_queue("peers", polling_interval_sec=0.1)

    def enqueue(self, url, jobs):
        from dbos import DBOSClient

        client = DBOSClient(system_database_url=url.replace("postgresql:", "postgresql+psycopg:"))
        for n in range(jobs):
            client.enqueue({"queue_name": "peers", "workflow_name": "noop"}, n)

    def work(self, url, count):
        self.launch(url, count.block)
        threading.Event().wait()


QUEUES = {"larder": Larder(), "awa": Awa(), "pgqueuer": PgQueuer(), "absurd": Absurd(), "procrastinate": Procrastinate(),
          "dbos": Dbos()}


def part(name, url, what, *words):
    """Runs one of install, enqueue and work."""
    queue = QUEUES[name]
    if what == "install":
        queue.install(url)
    elif what == "enqueue":
        begun = time.monotonic()
        queue.enqueue(url, int(words[0]))
        print(time.monotonic() - begun)
    else:
        queue.work(url, Counter(*words))


if __name__ == "__main__":
    part(*sys.argv[1:])
