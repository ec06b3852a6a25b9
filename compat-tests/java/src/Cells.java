import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

/** The matrix of ../../cells with Kafka's Java client; it uses nothing that the client of 2.1 doesn't have. */
public final class Cells {
    private static final int PARTITIONS = 4;
    private static final int PER_PARTITION = 50;
    private static final Duration LIMIT = Duration.ofSeconds(40);

    private interface Cell { void run() throws Exception; }

    private record Item(int partition, String key, String value, String header, long timestamp) { }

    private final String bootstrap;
    private final AdminClient admin;
    private final String prefix = "java-" + Long.toString(System.nanoTime(), 36);
    private int failed;

    private Cells(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = AdminClient.create(base());
    }

    public static void main(String[] args) {
        Cells c = new Cells(args[0]);
        c.all();
        c.admin.close();
        System.exit(c.failed == 0 ? 0 : 1);
    }

    private void all() {
        cell("create-topic", () -> {
            String t = topic("create");
            until("listed", () -> topics().contains(t));
        });
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd"))
            for (String acks : List.of("0", "1", "all"))
                cell("produce-" + codec + "-acks-" + acks, () -> produceCell(codec, acks, false));
        cell("idempotent", () -> produceCell("none", "all", true));
        cell("consume-group", () -> {
            String t = topic("group");
            List<Item> want = fill(t);
            try (KafkaConsumer<String, String> c = consumer(t)) {
                c.subscribe(List.of(t));
                same(drain(want.size(), List.of(c)), want);
            }
        });
        cell("consume-assign", () -> {
            String t = topic("assign");
            List<Item> want = fill(t);
            same(readAll(t, want), want);
        });
        cell("rebalance", this::rebalance);
        cell("seek-beginning", () -> seek("beginning"));
        cell("seek-end", () -> seek("end"));
        cell("seek-offset", () -> seek("offset"));
        cell("seek-time", () -> seek("time"));
        cell("commit-resume", this::commitResume);
        cell("delete-topic", () -> {
            String t = topic("delete");
            admin.deleteTopics(List.of(t)).all().get(20, TimeUnit.SECONDS);
            until("gone", () -> !topics().contains(t));
        });
    }

    private void cell(String name, Cell c) {
        try {
            c.run();
            System.out.println("PASS " + name);
        } catch (Throwable e) {
            failed++;
            System.out.println("FAIL " + name + ": " + String.valueOf(e).replace('\n', ' '));
        }
    }

    private Map<String, Object> base() {
        Map<String, Object> m = new HashMap<>();
        m.put("bootstrap.servers", bootstrap);
        return m;
    }

    private Set<String> topics() {
        try {
            return admin.listTopics().names().get(20, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private String topic(String name) throws Exception {
        String t = prefix + "-" + name;
        admin.createTopics(List.of(new NewTopic(t, PARTITIONS, (short) 1))).all().get(20, TimeUnit.SECONDS);
        return t;
    }

    private static void until(String what, BooleanSupplier ok) throws Exception {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!ok.getAsBoolean()) {
            if (System.nanoTime() > end) throw new IllegalStateException("never " + what);
            Thread.sleep(50);
        }
    }

    private static List<Item> items(int perPartition) {
        long start = System.currentTimeMillis() - 60_000;
        List<Item> out = new ArrayList<>();
        for (int i = 0; i < perPartition; i++)
            for (int p = 0; p < PARTITIONS; p++)
                out.add(new Item(p, "key-" + p + "-" + i, "value-" + p + "-" + i + "x".repeat(i % 97), Integer.toString(i), start + i * 1000L));
        return out;
    }

    private void produce(String topic, String codec, String acks, boolean idempotent, List<Item> items) throws Exception {
        Map<String, Object> m = base();
        m.put("acks", acks);
        m.put("compression.type", codec);
        m.put("enable.idempotence", Boolean.toString(idempotent));
        m.put("linger.ms", "5");
        m.put("max.block.ms", "20000");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> p = new KafkaProducer<>(m, new StringSerializer(), new StringSerializer())) {
            for (Item i : items)
                sent.add(p.send(new ProducerRecord<>(topic, i.partition, i.timestamp, i.key, i.value,
                    List.of(new RecordHeader("h", i.header.getBytes(StandardCharsets.UTF_8))))));
            for (Future<RecordMetadata> f : sent) f.get(20, TimeUnit.SECONDS);
        }
    }

    private void produceCell(String codec, String acks, boolean idempotent) throws Exception {
        String t = topic("produce-" + codec + "-" + acks + "-" + idempotent);
        List<Item> want = items(PER_PARTITION);
        List<Item> rest = want;
        if (acks.equals("0")) {
            // Without acks a record sent before a new partition has found its leader is lost, on Kafka too.
            produce(t, codec, "all", false, want.subList(0, PARTITIONS));
            rest = want.subList(PARTITIONS, want.size());
        }
        produce(t, codec, acks, idempotent, rest);
        same(readAll(t, want), want);
    }

    private List<Item> fill(String topic) throws Exception {
        List<Item> want = items(PER_PARTITION);
        produce(topic, "none", "all", false, want);
        return want;
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> m = base();
        if (group != null) m.put("group.id", group);
        m.put("enable.auto.commit", "false");
        m.put("auto.offset.reset", "earliest");
        m.put("heartbeat.interval.ms", "300");
        m.put("default.api.timeout.ms", "20000");
        return new KafkaConsumer<>(m, new StringDeserializer(), new StringDeserializer());
    }

    private static Item item(ConsumerRecord<String, String> r) {
        return new Item(r.partition(), r.key(), r.value(), new String(r.headers().lastHeader("h").value(), StandardCharsets.UTF_8), r.timestamp());
    }

    private static List<Item> drain(int n, List<KafkaConsumer<String, String>> consumers) {
        long end = System.nanoTime() + LIMIT.toNanos();
        List<Item> out = new ArrayList<>();
        for (int i = 0; out.size() < n; i++) {
            for (ConsumerRecord<String, String> r : consumers.get(i % consumers.size()).poll(Duration.ofMillis(200))) out.add(item(r));
            if (System.nanoTime() > end) throw new IllegalStateException(out.size() + " of " + n + " records came");
        }
        return out;
    }

    private List<Item> readAll(String topic, List<Item> want) {
        try (KafkaConsumer<String, String> c = consumer(null)) {
            List<TopicPartition> all = new ArrayList<>();
            for (int p = 0; p < PARTITIONS; p++) all.add(new TopicPartition(topic, p));
            c.assign(all);
            c.seekToBeginning(all);
            return drain(want.size(), List.of(c));
        }
    }

    private static void same(List<Item> got, List<Item> want) {
        if (got.size() != want.size()) throw new IllegalStateException(got.size() + " records came back, want " + want.size());
        for (int p = 0; p < PARTITIONS; p++) {
            int part = p;
            List<Item> g = got.stream().filter(i -> i.partition == part).toList();
            List<Item> w = want.stream().filter(i -> i.partition == part).toList();
            if (!g.equals(w)) throw new IllegalStateException("partition " + p + " differs: got " + g.size() + " records, want " + w.size());
        }
    }

    private static void pollUntil(String what, BooleanSupplier ok, List<KafkaConsumer<String, String>> consumers) throws Exception {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!ok.getAsBoolean()) {
            // Both at once: an eager rebalance makes each poll wait for the other member's join.
            ExecutorService pool = Executors.newFixedThreadPool(consumers.size());
            List<Future<?>> polls = new ArrayList<>();
            for (KafkaConsumer<String, String> c : consumers) polls.add(pool.submit(() -> c.poll(Duration.ofMillis(300))));
            for (Future<?> f : polls) f.get();
            pool.shutdown();
            if (System.nanoTime() > end) throw new IllegalStateException("never " + what);
        }
    }

    private void rebalance() throws Exception {
        String t = topic("rebalance");
        List<Item> want = fill(t);
        try (KafkaConsumer<String, String> a = consumer(t)) {
            a.subscribe(List.of(t));
            same(drain(want.size(), List.of(a)), want);
            a.commitSync();
            List<Item> more = items(PER_PARTITION);
            try (KafkaConsumer<String, String> b = consumer(t)) {
                b.subscribe(List.of(t));
                pollUntil("split", () -> a.assignment().size() == PARTITIONS / 2 && b.assignment().size() == PARTITIONS / 2, List.of(a, b));
                produce(t, "none", "all", false, more);
                same(drain(more.size(), List.of(a, b)), more);
                a.commitSync();
                b.commitSync();
            }
            pollUntil("all back with the first member", () -> a.assignment().size() == PARTITIONS, List.of(a));
        }
    }

    private void seek(String how) throws Exception {
        String t = topic("seek-" + how);
        List<Item> want = fill(t).stream().filter(i -> i.partition == 1).toList();
        TopicPartition tp = new TopicPartition(t, 1);
        try (KafkaConsumer<String, String> c = consumer(null)) {
            c.assign(List.of(tp));
            switch (how) {
                case "beginning" -> c.seekToBeginning(List.of(tp));
                case "offset" -> { c.seek(tp, 17); want = want.subList(17, want.size()); }
                case "time" -> {
                    want = want.subList(23, want.size());
                    c.seek(tp, c.offsetsForTimes(Map.of(tp, want.get(0).timestamp)).get(tp).offset());
                }
                default -> {
                    c.seekToEnd(List.of(tp));
                    if (c.position(tp) != PER_PARTITION) throw new IllegalStateException("end is " + c.position(tp));
                    want = List.of(new Item(1, "new", "new", "1", System.currentTimeMillis()));
                    produce(t, "none", "all", false, want);
                }
            }
            List<Item> got = drain(want.size(), List.of(c));
            if (!got.equals(want)) throw new IllegalStateException("got " + got.size() + " records from " + got.get(0) + ", want " + want.size());
        }
    }

    private void commitResume() throws Exception {
        String t = topic("resume");
        List<Item> want = fill(t);
        try (KafkaConsumer<String, String> c = consumer(t)) {
            c.subscribe(List.of(t));
            same(drain(want.size(), List.of(c)), want);
            c.commitSync();
        }
        List<Item> more = items(20);
        produce(t, "none", "all", false, more);
        try (KafkaConsumer<String, String> c = consumer(t)) {
            c.subscribe(List.of(t));
            same(drain(more.size(), List.of(c)), more);
        }
    }
}
