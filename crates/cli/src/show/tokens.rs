//! Tokens for people: names only.

use super::screen::{Ink, Screen};
use super::table::{Cell, Column, Table};
use super::when;
use operator::words::Token;

/// The tokens by name.
pub fn list(tokens: &[Token], screen: &Screen) -> String {
    if tokens.is_empty() {
        return "No tokens but the default one. Make one:  callgate token add NAME\n".into();
    }
    let mut table = Table::new(&[Column::text("NAME"), Column::word("MADE")]);
    for token in tokens {
        table.row([
            Cell::new(Ink::Bold, &token.name),
            Cell::new(Ink::Faint, &when::ago(token.created_ms, screen.now_ms)),
        ]);
    }
    table.draw(screen, 0)
}
