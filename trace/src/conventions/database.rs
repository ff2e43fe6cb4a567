//! Which database a JDBC driver's class belongs to.

/// Packages of drivers with OpenTelemetry's values of `db.system.name`.
const DRIVERS: &[(&str, &str)] = &[
    ("com.clickhouse.", "clickhouse"),
    ("com.ibm.db2.", "ibm.db2"),
    ("com.microsoft.sqlserver.", "microsoft.sql_server"),
    ("com.mysql.", "mysql"),
    ("com.sap.db.", "sap.hana"),
    ("net.snowflake.", "snowflake"),
    ("oracle.jdbc.", "oracle.db"),
    ("org.apache.derby.", "derby"),
    ("org.firebirdsql.", "firebirdsql"),
    ("org.h2.", "h2database"),
    ("org.hsqldb.", "hsqldb"),
    ("org.mariadb.", "mariadb"),
    ("org.postgresql.", "postgresql"),
    ("org.sqlite.", "sqlite"),
];

/// OpenTelemetry's value of `db.system.name` for a database that is not known.
pub const OTHER_DATABASE: &str = "other_sql";

/// Returns OpenTelemetry's name of the database whose driver has this class or method; `None` for classes of pools and unknown drivers.
#[must_use]
pub fn database_of_class(name: &str) -> Option<&'static str> {
    DRIVERS.iter().find(|(package, _)| name.starts_with(package)).map(|(_, database)| *database)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_known_by_their_packages_and_pools_are_none() {
        assert_eq!(database_of_class("org.h2.jdbc.JdbcStatement.execute"), Some("h2database"));
        assert_eq!(database_of_class("com.zaxxer.hikari.pool.HikariProxyStatement"), None);
    }
}
