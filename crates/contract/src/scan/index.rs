//! Which rules of many can fit a sentence at all, by what its words do: most sentences ask for few of them.

use super::classes::Classes;
use super::rules::Rule;

/// Rules are counted in the bits of this.
type Places = u128;

/// The first classes of many rules, turned round.
pub(super) struct Index {
    /// For each class the rules whose first step it is.
    first: Vec<Places>,
    /// For each class the rules whose second step it is.
    second: Vec<Places>,
    /// The rules that have no second step.
    short: Places,
}

impl Index {
    /// Of at most 128 rules.
    pub(super) fn of<'r>(rules: impl Iterator<Item = &'r Rule>) -> Index {
        let count = Classes::BITS as usize;
        let mut index = Index { first: vec![0; count], second: vec![0; count], short: 0 };
        for (place, rule) in rules.enumerate() {
            assert!(place < Places::BITS as usize, "one more rule than an index holds");
            let (first, second) = rule.begins_with();
            let enter = |table: &mut [Places], classes: Classes| {
                for bit in bits(classes) {
                    table[bit] |= 1 << place;
                }
            };
            enter(&mut index.first, first);
            match second {
                Some(second) => enter(&mut index.second, second),
                None => index.short |= 1 << place,
            }
        }
        index
    }

    /// The places of the rules whose first two steps stand in a sentence that does `all` of this, in their order.
    pub(super) fn candidates(&self, all: Classes) -> impl Iterator<Item = usize> {
        let (mut first, mut second) = (0, self.short);
        for bit in bits(all) {
            first |= self.first[bit];
            second |= self.second[bit];
        }
        bits(first & second)
    }
}

/// The places of the bits that are set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (lowest < u128::BITS).then_some(lowest as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::Talk;
    use super::super::rules::{meet, steps};

    #[test]
    fn nothing_that_could_fit_is_left_out() {
        let rules = [
            steps(Talk::Command, &[(0b11, 0), (0b100, 2), (0b1000, 2)]),
            steps(Talk::Command, &[(0b1, 0)]),
            meet(Talk::Command, &[0b100, 0b1]),
        ];
        let index = Index::of(rules.iter());
        let check = |all, expect: &[usize]| assert_eq!(index.candidates(all).collect::<Vec<_>>(), expect, "{all:b}");
        check(0, &[]);
        check(0b1, &[1]);
        check(0b110, &[0]);
        check(0b101, &[0, 1, 2]);
        check(1 << 127, &[]);
    }

    #[test]
    fn bits_come_in_order() {
        let check = |set: u128, expect: &[usize]| assert_eq!(bits(set).collect::<Vec<_>>(), expect);
        check(0, &[]);
        check(0b1010, &[1, 3]);
        check(1 << 127 | 1, &[0, 127]);
    }
}
