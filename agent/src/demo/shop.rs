//! The shop: its tables, its rows, and what happens in it.

/// How much there is of everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) customers: u32,
    pub(super) orders: u32,
    /// Orders that come in, are changed or go away while one watches.
    pub(super) live: u32,
}

impl Size {
    pub(super) const FULL: Self = Self { customers: 500, orders: 20_000, live: 400 };
    pub(super) const SHORT: Self = Self { customers: 50, orders: 400, live: 40 };
}

/// The tables with their key columns, as the lakes name them.
pub(super) const TABLES: [(&str, &[&str]); 3] =
    [("customers", &["id"]), ("orders", &["id"]), ("items", &["order_id", "line_no"])];

/// What the mapping transform is told: better names, and an address that nobody
/// downstream needs in full.
pub(super) const MAPPING: [&str; 3] = [
    "per_table:",
    "  shop.customers: { rename: { cust_nm: customer_name }, mask: { email: { keep_last: 12 } } }",
    "  shop.orders: { rename: { cust_id: customer_id } }",
];

const NAMES: &str = "'Ada Lovelace','Grace Hopper','Edsger Dijkstra','Barbara Liskov','Donald Knuth','Radia Perlman','Tony Hoare','Frances Allen'";
const CITIES: &str = "'London','New York','Nuenen','Boston','Stanford','Portsmouth','Colombo','Peru'";
const STATES: &str = "'new','paid','paid','shipped','shipped','cancelled'";

/// Everything that is there before the agent starts.
pub(super) fn schema_and_rows(size: Size) -> String {
    let Size { customers, orders, .. } = size;
    format!(
        "CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE customers (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, cust_nm VARCHAR(80) NOT NULL, email VARCHAR(120) NOT NULL,
  city VARCHAR(60), since DATE NOT NULL);
CREATE TABLE orders (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, cust_id INT UNSIGNED NOT NULL,
  status ENUM('new','paid','shipped','cancelled') NOT NULL, total DECIMAL(10,2) NOT NULL,
  placed_at DATETIME(6) NOT NULL);
CREATE TABLE items (
  order_id BIGINT UNSIGNED NOT NULL, line_no SMALLINT UNSIGNED NOT NULL, sku VARCHAR(20) NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL, price DECIMAL(8,2) NOT NULL, PRIMARY KEY (order_id, line_no));
INSERT INTO customers (cust_nm, email, city, since)
  SELECT ELT(1 + seq % 8, {NAMES}), CONCAT('customer', seq, '@example.com'), ELT(1 + seq % 8, {CITIES}),
         DATE '2024-01-01' + INTERVAL seq DAY FROM seq_1_to_{customers};
{}",
        new_orders(1, orders, customers)
    )
}

/// What happens in the database `shop` while the agent watches, each with a line
/// about it.
pub(super) fn live_changes(size: Size) -> Vec<(&'static str, String)> {
    let Size { customers, orders, live } = size;
    let (next, after) = (orders + 1, orders + live);
    vec![
        ("new orders come in", new_orders(next, after, customers)),
        (
            "orders are paid and shipped",
            format!("UPDATE orders SET status = 'shipped' WHERE status = 'paid' ORDER BY id LIMIT {live}"),
        ),
        (
            "a customer moves and gets another address",
            "UPDATE customers SET city = 'Malmö', email = 'ada.lovelace@example.com' WHERE id = 8".to_owned(),
        ),
        (
            "cancelled orders are removed",
            format!(
                "BEGIN; DELETE i FROM items i JOIN orders o ON o.id = i.order_id \
                 WHERE o.status = 'cancelled' AND o.id <= {live};
DELETE FROM orders WHERE status = 'cancelled' AND id <= {live}; COMMIT"
            ),
        ),
        (
            "the schema changes",
            "ALTER TABLE orders ADD COLUMN channel VARCHAR(12) NOT NULL DEFAULT 'web' AFTER status"
                .to_owned(),
        ),
        (
            "orders come in by the new app",
            format!(
                "INSERT INTO orders (cust_id, status, channel, total, placed_at) \
                 SELECT 1 + seq % {customers}, 'new', 'app', 9.90 + seq, NOW(6) FROM seq_1_to_{live}"
            ),
        ),
    ]
}

/// Orders from `first` to `last`, with one to three lines each.
fn new_orders(first: u32, last: u32, customers: u32) -> String {
    format!(
        "BEGIN;
INSERT INTO orders (id, cust_id, status, total, placed_at)
  SELECT seq, 1 + seq * 7 % {customers}, ELT(1 + seq % 6, {STATES}), 5 + seq % 400 + seq % 100 / 100,
         TIMESTAMP '2026-01-01 08:00:00' + INTERVAL seq * 137 SECOND FROM seq_{first}_to_{last};
INSERT INTO items (order_id, line_no, sku, quantity, price)
  SELECT o.seq, l.seq, CONCAT('SKU-', LPAD(o.seq * l.seq % 977, 4, '0')), 1 + o.seq % 5, 4.5 + l.seq * 3
  FROM seq_{first}_to_{last} o JOIN seq_1_to_3 l WHERE l.seq <= 1 + o.seq % 3;
COMMIT;
"
    )
}
