//! Orders to workers: which worker, and the number of its slots.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::act::Act;
use super::model::{Mode, Model, Notice};
use super::orders::Order;

/// Longest number that is typed.
const DIGITS: usize = 6;

impl Model {
    /// The worker that an order is for.
    fn chosen_worker(&self) -> Option<String> {
        if self.opened.is_some() {
            return self.opened_worker().map(|worker| worker.id.clone());
        }
        let worker = self.selected().and_then(|at| self.workers().get(at).copied());
        worker.map(|worker| worker.id.clone())
    }

    pub(super) fn ask_to_order(&mut self, order: Order) {
        let confirm = self.chosen_worker().map(|worker| Act::order(order, &worker));
        self.ask_to_confirm(confirm.ok_or_else(|| "nothing is selected".to_owned()));
    }

    /// Asks for the number of slots.
    pub(super) fn ask_for_slots(&mut self) {
        match self.chosen_worker() {
            Some(worker) => self.mode = Mode::Slots { worker, text: String::new(), error: None },
            None => self.notice = Notice::error("nothing is selected"),
        }
    }

    pub(super) fn edit_slots(&mut self, key: KeyEvent) {
        let Mode::Slots { worker, text, error } = &mut self.mode else { return };
        *error = None;
        match key.code {
            KeyCode::Esc => self.mode = Mode::Browse,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(digit) if digit.is_ascii_digit() && text.len() < DIGITS => {
                text.push(digit);
            }
            KeyCode::Enter => match text.parse() {
                Ok(slots) => self.mode = Mode::Confirm(Act::order(Order::Slots(slots), worker)),
                Err(_) => *error = Some("type a number from 1 on".to_owned()),
            },
            _ => {}
        }
    }
}
