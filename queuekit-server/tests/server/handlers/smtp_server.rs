//! A mail server, for SMTP.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;

use crate::handlers::tcp::{Wire, accept, encrypted, line, plain};

/// Listens until the process ends; reports each mail once it has arrived whole.
pub(crate) struct MailServer {
    pub(crate) address: SocketAddr,
    mails: Receiver<Mail>,
}

/// What came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) data: String,
    pub(crate) login: Option<String>,
    pub(crate) encrypted: bool,
}

/// How it speaks.
#[derive(Default)]
pub(crate) struct Manners {
    /// Encrypts from the beginning, or if it is asked to.
    pub(crate) tls: Option<(Arc<ServerConfig>, Begin)>,
    /// What it says to the n-th connection, from 1, at a verb (`END` is the end of a mail), if not
    /// the usual; nothing at all for an empty text.
    pub(crate) says: Option<Says>,
    /// A verb, and what it says at it without end.
    pub(crate) repeats: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Encrypted,
    Plain,
}

type Says = Box<dyn Fn(usize, &str) -> Option<&'static str> + Send + Sync>;

impl MailServer {
    pub(crate) fn new(manners: Manners) -> Self {
        let (told, mails) = channel();
        let (told, count) = (Mutex::new(told), AtomicUsize::new(0));
        let address = accept("127.0.0.1:0", move |stream| {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            let told = told.lock().unwrap().clone();
            let _ = Talk::begin(&manners, number, stream).hold(&told);
        });
        Self { address, mails }
    }

    /// Says this at this verb, and else takes all mail.
    pub(crate) fn saying(at: &'static str, text: &'static str) -> Self {
        let says: Says = Box::new(move |_, verb| (verb == at).then_some(text));
        Self::new(Manners { says: Some(says), ..Manners::default() })
    }

    /// Says this at this verb without end.
    pub(crate) fn repeating(at: &'static str, text: &'static str) -> Self {
        Self::new(Manners { repeats: Some((at, text)), ..Manners::default() })
    }

    pub(crate) fn next(&self) -> Mail {
        self.mails.recv().unwrap()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.mails.try_recv().is_err()
    }
}

struct Talk<'a> {
    manners: &'a Manners,
    number: usize,
    stream: TcpStream,
    wire: Wire,
    mail: Mail,
}

impl<'a> Talk<'a> {
    fn begin(manners: &'a Manners, number: usize, stream: TcpStream) -> Self {
        let mut talk = Self {
            manners,
            number,
            wire: plain(stream.try_clone().unwrap()),
            stream,
            mail: Mail::default(),
        };
        if manners.tls.as_ref().is_some_and(|(_, begin)| *begin == Begin::Encrypted) {
            talk.encrypt();
        }
        talk
    }

    fn hold(mut self, told: &Sender<Mail>) -> std::io::Result<()> {
        self.say("GREETING", "220 here")?;
        while let Some(command) = line(&mut self.wire) {
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            let argument = command.split_once(':').map_or("", |(_, argument)| argument).to_owned();
            match &*verb {
                "EHLO" => {
                    let can_encrypt = self.manners.tls.is_some() && !self.mail.encrypted;
                    let starttls = if can_encrypt { "250-STARTTLS\r\n" } else { "" };
                    self.say("EHLO", &format!("250-here\r\n{starttls}250 AUTH PLAIN LOGIN"))?;
                }
                "STARTTLS" => {
                    self.say("STARTTLS", "220 go on")?;
                    self.encrypt();
                }
                "AUTH" => {
                    self.mail.login = command.rsplit(' ').next().map(str::to_owned);
                    self.say("AUTH", "235 welcome")?;
                }
                "MAIL" => {
                    self.mail.from = argument;
                    self.say("MAIL", "250 ok")?;
                }
                "RCPT" => {
                    self.mail.to.push(argument);
                    self.say("RCPT", "250 ok")?;
                }
                "DATA" => {
                    if self.say("DATA", "354 go on")? != "354 go on" {
                        continue;
                    }
                    let lines = std::iter::from_fn(|| line(&mut self.wire));
                    let lines: Vec<_> = lines.take_while(|line| line != ".").collect();
                    self.mail.data = lines.join("\n");
                    let _ = told.send(self.mail.clone());
                    self.say("END", "250 queued as 42")?;
                }
                _ => {
                    self.say(&verb, "221 bye")?;
                }
            }
        }
        Ok(())
    }

    fn encrypt(&mut self) {
        let (config, _) = self.manners.tls.as_ref().expect("it can");
        self.wire = encrypted(self.stream.try_clone().unwrap(), config);
        self.mail.encrypted = true;
    }

    fn say<'t>(&mut self, verb: &str, usual: &'t str) -> std::io::Result<&'t str>
    where
        'a: 't,
    {
        while let Some((at, text)) = self.manners.repeats
            && at == verb
        {
            self.wire.get_mut().write_all(text.repeat(1000).as_bytes())?;
        }
        let own = self.manners.says.as_ref().and_then(|says| says(self.number, verb));
        let text = own.unwrap_or(usual);
        if !text.is_empty() {
            self.wire.get_mut().write_all(format!("{text}\r\n").as_bytes())?;
            self.wire.get_mut().flush()?;
        }
        Ok(text)
    }
}
