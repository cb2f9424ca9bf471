//! Reading jobs and queues. Reads run on connections of their own, each in a transaction that
//! sees one instant, and change nothing.

mod figures;
mod listing;
mod recent;
mod status;
mod view;
mod why;
mod workers;
