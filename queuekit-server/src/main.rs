//! The `queuekit` binary: a server, workers and a command line over every store.

mod api;
mod http;

/// Until the command line is there.
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let env = |name: &str| std::env::var(name).ok();
    let args: Vec<String> = std::env::args().collect();
    let flag = |name: &str| args.iter().position(|arg| arg == name).map(|at| args[at + 1].clone());
    let url =
        flag("--url").or(env("QUEUEKIT_URL")).unwrap_or_else(|| "sqlite://queuekit.db".to_owned());
    let listen = flag("--listen")
        .or(env("QUEUEKIT_LISTEN"))
        .unwrap_or_else(|| "127.0.0.1:8080".to_owned())
        .parse()?;
    let keys = http::keys::Keys::new(Vec::new(), env("QUEUEKIT_API_KEY").as_deref());
    let limits = http::HttpLimits::default();
    let options = http::HttpOptions {
        listen,
        keys,
        insecure_no_auth: false,
        hosts: Vec::new(),
        tls: None,
        limits,
    };
    let server = http::Server::bind(queuekit::connect(&url).await?, options).await?;
    println!("{{\"url\":\"{}\"}}", server.url());
    let stop = tokio_util::sync::CancellationToken::new();
    let at_signal = stop.clone();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        at_signal.cancel();
    });
    server.run(stop).await
}
