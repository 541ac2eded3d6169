//! Where things stand on the screen: pure arithmetic, so that the machine knows what a person can see.

use ratatui::layout::Rect;

/// From this width on, list and detail stand side by side.
const WIDE: u16 = 110;
/// Fewest rows in which a detail is of use beside the list.
const LOW: u16 = 4;

/// Most rows for what was just said.
const MOST_SAID: u16 = 3;

/// Which of the two has the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// The list.
    #[default]
    List,
    /// The detail; on a narrow screen it has all of it.
    Detail,
}

/// The parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panes {
    /// The line at the top.
    pub head: Rect,
    /// The list, where it shows.
    pub list: Option<Rect>,
    /// The title of the detail.
    pub title: Option<Rect>,
    /// The detail, where it shows.
    pub detail: Option<Rect>,
    /// What was just said.
    pub notice: Rect,
    /// What can be done.
    pub keys: Rect,
}

/// The parts of a screen of that size. What was just said may take `said` rows: they go off the end of the detail, so
/// that nothing above them moves.
pub fn panes(width: u16, height: u16, focus: Focus, said: u16) -> Panes {
    let row = |y: u16| Rect::new(0, y.min(height.saturating_sub(1)), width, height.min(1));
    let body = Rect::new(0, 1, width, height.saturating_sub(3));
    let more = if width >= WIDE { 0 } else { said.clamp(1, MOST_SAID) - 1 };
    let (list, below) = match focus {
        _ if width >= WIDE => {
            let left = (width * 2 / 5).clamp(44, 80);
            let list = Rect { width: left, ..body };
            // One column between them stays empty but for the line.
            (Some(list), Some(Rect { x: left + 2, width: width - left - 2, ..body }))
        }
        Focus::Detail => (None, Some(body)),
        Focus::List => {
            let high = (body.height / 3).clamp(3, 10).min(body.height);
            let rest = body.height - high;
            if rest < LOW {
                (Some(body), None)
            } else {
                (Some(Rect { height: high, ..body }), Some(Rect { y: body.y + high, height: rest, ..body }))
            }
        }
    };
    let below = below.filter(|rect| rect.height >= 2);
    let more = below.map_or(0, |rect| more.min(rect.height - 2));
    let notice = row(height.saturating_sub(2 + more));
    Panes {
        head: row(0),
        list: list.filter(|rect| rect.height > 0),
        title: below.map(|rect| Rect { height: 1, ..rect }),
        detail: below.map(|rect| Rect { y: rect.y + 1, height: rect.height - 1 - more, ..rect }),
        notice: Rect { height: notice.height.min(1) * (1 + more), ..notice },
        keys: row(height.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Height of the list and size of the detail.
    fn check(size: (u16, u16), focus: Focus, expect: (Option<u16>, Option<(u16, u16)>)) {
        let panes = panes(size.0, size.1, focus, 1);
        let found = (panes.list.map(|rect| rect.height), panes.detail.map(|rect| (rect.width, rect.height)));
        assert_eq!(found, expect, "{size:?} {focus:?}");
        for rect in [panes.list, panes.title, panes.detail, Some(panes.notice), Some(panes.keys)].into_iter().flatten()
        {
            assert!(rect.right() <= size.0.max(1) && rect.bottom() <= size.1.max(1), "{size:?}: {rect:?}");
        }
    }

    #[test]
    fn parts_fit_every_screen() {
        check((80, 24), Focus::List, (Some(7), Some((80, 13))));
        let said = panes(80, 24, Focus::List, 2);
        assert_eq!((said.notice.y, said.notice.height, said.detail.map(|rect| rect.height)), (21, 2, Some(12)));
        check((80, 24), Focus::Detail, (None, Some((80, 20))));
        check((120, 40), Focus::List, (Some(37), Some((70, 36))));
        check((120, 40), Focus::Detail, (Some(37), Some((70, 36))));
        check((40, 12), Focus::List, (Some(3), Some((40, 5))));
        check((40, 6), Focus::List, (Some(3), None));
        check((20, 3), Focus::Detail, (None, None));
        check((0, 0), Focus::List, (None, None));
        for width in 0..150 {
            for height in 0..50 {
                for focus in [Focus::List, Focus::Detail] {
                    let at = panes(width, height, focus, 1);
                    check(
                        (width, height),
                        focus,
                        (at.list.map(|it| it.height), at.detail.map(|it| (it.width, it.height))),
                    );
                }
            }
        }
    }
}
