//! Which process belongs to which instance, from one reading of the process table. Pure: no signal, no file.

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proc {
    /// Its number.
    pub pid: i32,
    /// When it began, in the system's own unit.
    pub start: u64,
}

/// One line of the process table. Those that have ended are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub proc: Proc,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

/// The process table, by number.
pub struct Table(Vec<Entry>);

impl Table {
    /// Of entries in any order.
    pub fn new(mut entries: Vec<Entry>) -> Table {
        entries.sort_unstable_by_key(|entry| entry.proc.pid);
        Table(entries)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    fn get(&self, pid: i32) -> Option<&Entry> {
        self.0.binary_search_by_key(&pid, |entry| entry.proc.pid).ok().map(|at| &self.0[at])
    }

    /// The process itself, its parent, and so on. Ends even if the reading caught a circle.
    pub fn line(&self, pid: i32) -> impl Iterator<Item = &Entry> {
        let mut next = self.get(pid);
        std::iter::from_fn(move || {
            let entry = next?;
            next = self.get(entry.parent).filter(|parent| parent.proc.pid != entry.proc.pid);
            Some(entry)
        })
        .take(self.0.len())
    }

    /// All below `ancestor`, each with the processes from itself up to the ancestor's own child.
    pub fn below(&self, ancestor: i32) -> impl Iterator<Item = (&Entry, Vec<&Entry>)> {
        self.0.iter().filter_map(move |entry| {
            let mut line = Vec::new();
            for step in self.line(entry.proc.pid) {
                if step.proc.pid == ancestor {
                    return None;
                }
                line.push(step);
                if step.parent == ancestor {
                    return Some((entry, line));
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: i32, parent: i32) -> Entry {
        Entry { proc: Proc { pid, start: pid as u64 }, parent, group: pid }
    }

    fn check(entries: &[(i32, i32)], ancestor: i32, expect: &[(i32, &[i32])]) {
        let table = Table::new(entries.iter().map(|&(pid, parent)| entry(pid, parent)).collect());
        let below: Vec<(i32, Vec<i32>)> = table
            .below(ancestor)
            .map(|(entry, line)| (entry.proc.pid, line.iter().map(|step| step.proc.pid).collect()))
            .collect();
        let expect: Vec<(i32, Vec<i32>)> = expect.iter().map(|(pid, line)| (*pid, line.to_vec())).collect();
        assert_eq!(below, expect);
    }

    #[test]
    fn descendants_with_the_way_up() {
        check(&[], 5, &[]);
        check(&[(1, 0), (5, 1), (9, 1)], 5, &[]);
        check(&[(1, 0), (5, 1), (6, 5), (3, 6), (9, 1)], 5, &[(3, &[3, 6]), (6, &[6])]);
        // The reading is not of one moment: a parent may be missing, or a circle may appear.
        check(&[(1, 0), (5, 1), (6, 77), (7, 8), (8, 7), (9, 9)], 5, &[]);
        // The ancestor need not be in the table itself.
        check(&[(6, 5)], 5, &[(6, &[6])]);
    }
}
