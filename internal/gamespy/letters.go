package gamespy

import "crypto/rand"

// RandomLetters returns n capitals, for challenges: some clients read exactly as
// many from a fixed offset.
func RandomLetters(n int) string {
	const fair = 256 / 26 * 26 // bytes from here on would make some letters more likely
	out := make([]byte, 0, n)
	for len(out) < n {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails
		for _, c := range b {
			if c < fair && len(out) < n {
				out = append(out, 'A'+c%26)
			}
		}
	}
	return string(out)
}
