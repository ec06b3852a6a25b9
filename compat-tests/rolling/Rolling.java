import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/** The work of main.go with Kafka's Java client: java Rolling BROKERS TOPIC GROUP. */
public final class Rolling {
    private static final int PARTITIONS = 6, INTERVAL = 4, ENOUGH = 200, PATIENCE = 90_000;

    private final String brokers, topic, group;
    private final Set<String> acked = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> read = new ConcurrentHashMap<>();
    private final Map<String, Integer> stored = new HashMap<>();
    private final Queue<String> errors = new ConcurrentLinkedQueue<>();
    private final AtomicInteger moves = new AtomicInteger();
    private volatile boolean ready, endProducing, endConsuming;

    private Rolling(String[] args) {
        brokers = args[0];
        topic = args[1];
        group = args[2];
    }

    public static void main(String[] args) throws Exception {
        new Rolling(args).run();
        System.exit(0);
    }

    private void run() throws Exception {
        Thread producer = start(this::produce);
        List<Thread> consumers = List.of(start(this::consume), start(this::consume));
        while (acked.size() < ENOUGH || read.size() < ENOUGH) Thread.sleep(20);
        Thread.sleep(8000);
        ready = true;
        System.out.println("ready");
        while (System.in.read() >= 0) { }
        endProducing = true;
        producer.join();
        for (long until = System.currentTimeMillis() + PATIENCE; read.size() < acked.size() && System.currentTimeMillis() < until; ) Thread.sleep(50);
        endConsuming = true;
        for (Thread t : consumers) t.join();
        report(readAll());
    }

    private static Thread start(Runnable r) {
        Thread t = new Thread(r);
        t.start();
        return t;
    }

    private void produce() {
        Map<String, Object> config = Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers, ProducerConfig.LINGER_MS_CONFIG, 5);
        try (Producer<String, String> p = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (int n = 0; !endProducing; n++) {
                String value = Integer.toString(n);
                p.send(new ProducerRecord<>(topic, value, value), (m, e) -> {
                    if (e != null) errors.add("produce: " + e);
                    else acked.add(value);
                });
                Thread.sleep(INTERVAL);
            }
            p.flush();
        } catch (Exception e) {
            errors.add("producer: " + e);
        }
    }

    private Consumer<String, String> consumer() {
        Map<String, Object> config = Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers, ConsumerConfig.GROUP_ID_CONFIG, group,
            ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false, ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, CooperativeStickyAssignor.class.getName());
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private void consume() {
        ConsumerRebalanceListener listener = new ConsumerRebalanceListener() {
            @Override public void onPartitionsRevoked(Collection<TopicPartition> p) { moved(); }
            @Override public void onPartitionsAssigned(Collection<TopicPartition> p) { moved(); }
        };
        try (Consumer<String, String> c = consumer()) {
            c.subscribe(List.of(topic), listener);
            while (!endConsuming) {
                try {
                    ConsumerRecords<String, String> batch = c.poll(Duration.ofMillis(200));
                    for (ConsumerRecord<String, String> r : batch) read.merge(r.value(), 1, Integer::sum);
                    if (!batch.isEmpty()) c.commitSync();
                } catch (Exception e) {
                    errors.add("consumer: " + e);
                }
            }
        }
    }

    private void moved() {
        if (ready && !endConsuming) moves.incrementAndGet();
    }

    private long readAll() {
        try (Consumer<String, String> c = consumer()) {
            List<TopicPartition> all = new ArrayList<>();
            for (int i = 0; i < PARTITIONS; i++) all.add(new TopicPartition(topic, i));
            c.assign(all);
            c.seekToBeginning(all);
            long ends = c.endOffsets(all).values().stream().mapToLong(Long::longValue).sum(), left = ends;
            for (long until = System.currentTimeMillis() + PATIENCE; left > 0 && System.currentTimeMillis() < until; )
                for (ConsumerRecord<String, String> r : c.poll(Duration.ofMillis(200))) {
                    stored.merge(r.value(), 1, Integer::sum);
                    left--;
                }
            for (OffsetAndMetadata o : c.committed(new HashSet<>(all)).values()) if (o != null) ends -= o.offset();
            return ends;
        }
    }

    private void report(long behind) {
        long lost = acked.stream().filter(v -> !stored.containsKey(v)).count(), missed = acked.stream().filter(v -> !read.containsKey(v)).count();
        int doubled = stored.values().stream().mapToInt(n -> n - 1).sum(), again = read.values().stream().mapToInt(n -> n - 1).sum();
        errors.stream().limit(5).forEach(e -> System.out.println("java error: " + e));
        System.out.printf("java: %d acknowledged, %d lost, %d doubled; the group read %d, missed %d, read %d again, is %d behind; %d rebalance calls; %d errors%n",
            acked.size(), lost, doubled, read.size(), missed, again, behind, moves.get(), errors.size());
        boolean bad = lost + missed + doubled + again + moves.get() + errors.size() > 0 || behind != 0 || acked.isEmpty();
        System.out.println((bad ? "FAIL" : "PASS") + " java");
    }
}
