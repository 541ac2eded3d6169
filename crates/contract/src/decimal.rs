//! The exact value of a JSON number, read where it stands: nothing is converted, rounded or copied, and an exponent is
//! only ever counted with, so that 1e999999999 costs no more than 1.

use std::cmp::Ordering;

/// Digits that are taken at once where a number is divided.
const AT_ONCE: usize = 18;

/// An exact decimal value: 0.DIGITS times ten to the power of `point`, without outer zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'t> {
    negative: bool,
    /// The digits before the dot, and those behind it.
    head: &'t [u8],
    tail: &'t [u8],
    point: i64,
}

impl<'t> Decimal<'t> {
    /// The value of a JSON number; None where its exponent is beyond 64 bits.
    pub(crate) fn read(source: &'t str) -> Option<Decimal<'t>> {
        let (negative, unsigned) = match source.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, source),
        };
        let (mantissa, exponent) = match unsigned.bytes().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (mut head, mut tail) = (without_leading(whole.as_bytes()), fraction.as_bytes());
        let shift = if head.is_empty() {
            tail = without_leading(tail);
            i64::try_from(tail.len()).ok()? - i64::try_from(fraction.len()).ok()?
        } else {
            i64::try_from(head.len()).ok()?
        };
        tail = without_trailing(tail);
        if tail.is_empty() {
            head = without_trailing(head);
        }
        if head.is_empty() && tail.is_empty() {
            return Some(Decimal { negative: false, head, tail, point: 0 });
        }
        let point = exponent.map_or(Some(0), |exponent| exponent.parse::<i64>().ok())?.checked_add(shift)?;
        Some(Decimal { negative, head, tail, point })
    }

    fn digits(self) -> impl Iterator<Item = u8> {
        self.head.iter().chain(self.tail).copied()
    }

    fn length(self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// -1, 0 or 1.
    fn sign(self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.length() == 0
    }

    /// Whether it has no fraction.
    pub(crate) fn is_integer(self) -> bool {
        self.is_zero() || i64::try_from(self.length()).is_ok_and(|length| length <= self.point)
    }

    /// Whether it surely is what its double is printed as: up to 15 digits in the range of ordinary doubles.
    pub(crate) fn fits_double(self) -> bool {
        self.length() <= 15 && (-290..=290).contains(&self.point)
    }

    /// Its digits as one number and the power of ten that they are shifted by; None where they are more than 18.
    pub(crate) fn significand(self) -> Option<(u64, i64)> {
        let length = self.length();
        let digits = (length <= AT_ONCE).then(|| self.digits().fold(0, append))?;
        Some((digits, self.point.checked_sub(i64::try_from(length).ok()?)?))
    }

    /// Whether it is a whole multiple of `digits` (not 0, at most 18 of them, the last not 0) times ten to `power`.
    pub(crate) fn is_multiple_of(self, digits: u64, power: i64) -> bool {
        if self.is_zero() {
            return true;
        }
        let own = i64::try_from(self.length()).ok().and_then(|length| self.point.checked_sub(length));
        let Some(above) = own.and_then(|own| own.checked_sub(power)) else { return false };
        // Its last digit is not 0, so that it is no multiple of ten times anything.
        let Ok(above) = u64::try_from(above) else { return false };
        let modulus = u128::from(digits);
        let mut rest: u128 = 0;
        let mut left = self.length();
        let mut all = self.digits();
        while left > 0 {
            let taken = left.min(AT_ONCE);
            let part = all.by_ref().take(taken).fold(0, append);
            // Both factors are at most ten to the power of 18.
            rest = (rest * 10u128.pow(u32::try_from(taken).unwrap_or(0)) + u128::from(part)) % modulus;
            left -= taken;
        }
        (rest * power_of_ten(above, modulus)).is_multiple_of(modulus)
    }

    /// Appends a text that all spellings of this value have in common, and no other value has.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        out.push(b'.');
        out.extend(self.digits());
        out.extend_from_slice(format!("e{}", self.point).as_bytes());
    }
}

fn append(number: u64, digit: u8) -> u64 {
    number * 10 + u64::from(digit - b'0')
}

/// Ten to a power, as what is left when it is divided; in as many steps as the power has bits.
fn power_of_ten(mut power: u64, modulus: u128) -> u128 {
    let (mut result, mut square) = (1 % modulus, 10 % modulus);
    while power > 0 {
        if power & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        power >>= 1;
    }
    result
}

fn without_leading(digits: &[u8]) -> &[u8] {
    let first = digits.iter().position(|&digit| digit != b'0').unwrap_or(digits.len());
    &digits[first..]
}

fn without_trailing(digits: &[u8]) -> &[u8] {
    let last = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    &digits[..last]
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = || self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits()));
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => size(),
            _ => size().reverse(),
        })
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

/// Compares the exact values of two JSON numbers; None where an exponent is beyond 64 bits.
pub(crate) fn compare(a: &str, b: &str) -> Option<Ordering> {
    Some(Decimal::read(a)?.cmp(&Decimal::read(b)?))
}

/// A number that is written as a whole one of 64 bits, as nearly all are.
pub(crate) fn small(source: &str) -> Option<i64> {
    source.parse().ok()
}
