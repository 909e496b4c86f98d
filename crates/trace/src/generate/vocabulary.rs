//! Words for names and values. Everything is invented; hosts are under `example`.

pub(super) const NAMESPACES: [&str; super::cluster::NAMESPACES as usize] =
    ["shop", "search", "payments", "media", "accounts", "platform"];

pub(super) const SERVICES: [&str; 24] = [
    "cart", "catalog", "checkout", "pricing", "stock", "orders", "shipping", "reviews", "profile", "login",
    "session", "mail", "images", "video", "suggest", "query", "index", "ledger", "invoice", "refund",
    "gateway", "audit", "flags", "metrics",
];

pub(super) const ENV_NAMES: [&str; 12] = [
    "CACHE_TTL",
    "DB_HOST",
    "DB_POOL",
    "LOG_LEVEL",
    "QUEUE_URL",
    "RETRY_MAX",
    "FEATURE_FLAG",
    "REGION",
    "TIMEOUT",
    "UPSTREAM",
    "BATCH_SIZE",
    "TRACE_RATE",
];

pub(super) const ENV_VALUES: [&str; 16] = [
    "300s",
    "db.internal.example",
    "16",
    "info",
    "amqp://queue.internal.example",
    "5",
    "true",
    "eu-central",
    "2500ms",
    "http://gateway.platform:8080",
    "128",
    "0.01",
    "false",
    "debug",
    "us-east",
    "64",
];

/// A name that is unique for its number.
pub(super) fn service(number: u32) -> String {
    let word = SERVICES[number as usize % SERVICES.len()];
    match number as usize / SERVICES.len() {
        0 => word.to_owned(),
        round => format!("{word}-{round}"),
    }
}

pub(super) fn namespace(number: u32) -> &'static str {
    NAMESPACES[number as usize % NAMESPACES.len()]
}
