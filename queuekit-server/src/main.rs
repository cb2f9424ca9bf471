//! The `queuekit` binary, see the library.

fn main() -> std::process::ExitCode {
    queuekit_server::main()
}
