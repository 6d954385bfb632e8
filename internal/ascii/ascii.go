// Package ascii folds the case of ASCII letters in texts of unknown encoding:
// names of games, rules, players and accounts as old programs send them. All
// other bytes are left unchanged; it is not for Unicode text.
package ascii

// Lower returns a letter from A to Z in lower case and every other byte
// unchanged.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// ToLower returns a text with its letters in lower case, s itself if they are.
func ToLower(s string) string {
	for i := range len(s) {
		if Lower(s[i]) != s[i] {
			return string(AppendLower(make([]byte, 0, len(s)), s))
		}
	}
	return s
}

// AppendLower appends a text with its letters in lower case.
func AppendLower[T string | []byte](dst []byte, s T) []byte {
	for i := range len(s) {
		dst = append(dst, Lower(s[i]))
	}
	return dst
}

// EqualFold reports whether two texts are equal but for the case of ASCII
// letters. It does not allocate.
func EqualFold[A, B string | []byte](a A, b B) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if Lower(a[i]) != Lower(b[i]) {
			return false
		}
	}
	return true
}

// Distance returns how many bytes must be inserted, removed or replaced to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the prefix of a to all prefixes of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
