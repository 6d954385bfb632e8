package gamespy

import (
	"errors"
	"strings"
	"testing"
)

type passwordVectors struct {
	Keystream hexBytes
	Passwords []struct {
		Plain   hexBytes
		Encoded string
	}
}

func loadPasswords(t testing.TB) passwordVectors {
	v := loadJSON[passwordVectors](t, "passwords.json")
	if len(v.Passwords) != 16 {
		t.Fatalf("passwords.json has %d passwords, want 16", len(v.Passwords))
	}
	return v
}

func TestPasswordsOfTheOriginalClient(t *testing.T) {
	vectors := loadPasswords(t)
	for _, v := range vectors.Passwords {
		plain := string(v.Plain)
		if got := EncodePassword(plain); got != v.Encoded {
			t.Errorf("EncodePassword(%q) = %q, want %q", plain, got, v.Encoded)
		}
		if got, err := DecodePassword(v.Encoded); got != plain || err != nil {
			t.Errorf("DecodePassword(%q) = %q, %v, want %q", v.Encoded, got, err, plain)
		}
	}
	zeros := make([]byte, len(vectors.Keystream))
	xorPassword(zeros)
	if string(zeros) != string(vectors.Keystream) {
		t.Errorf("key stream = %x, want %x", zeros, []byte(vectors.Keystream))
	}
}

func TestDecodePasswordIsLenient(t *testing.T) {
	tests := map[string]struct{ encoded, want string }{
		"no padding":            {"ZpOHgVy0nsg", "password"},
		"ordinary padding":      {"ZpOHgVy0nsg=", "password"},
		"ordinary alphabet":     {"JsPGwR/u2ptBNk7bAZ6MQepeQOiPpQ3vnXP+TJSI", "012345678901234567890123456789"},
		"half of the padding":   {"dw_", "a"},
		"both kinds of padding": {"dw_=", "a"},
		"empty":                 {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := DecodePassword(tt.encoded); got != tt.want || err != nil {
				t.Errorf("DecodePassword(%q) = %q, %v, want %q", tt.encoded, got, err, tt.want)
			}
		})
	}
}

func TestDecodePasswordRefuses(t *testing.T) {
	tests := map[string]struct {
		encoded string
		want    error
	}{
		"one character":         {"d", ErrPasswordEncoding},
		"padding in the middle": {"dw__dw__", ErrPasswordEncoding},
		"too much padding":      {"dw___", ErrPasswordEncoding},
		"other character":       {"d5C-", ErrPasswordEncoding},
		"space":                 {"d5 CX", ErrPasswordEncoding},
		"line end":              {"d5CX\r\n", ErrPasswordEncoding},
		"NUL":                   {"d5CX\x00", ErrPasswordEncoding},
		"above ASCII":           {"d5C\xff", ErrPasswordEncoding},
		"one byte too long":     {EncodePassword(strings.Repeat("x", MaxPassword+1)), ErrPasswordTooLong},
		"far too long":          {strings.Repeat("A", MaxEncodedPassword+1), ErrPasswordTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := DecodePassword(tt.encoded); !errors.Is(err, tt.want) || got != "" {
				t.Errorf("DecodePassword(%q) = %q, %v, want %v", tt.encoded, got, err, tt.want)
			}
		})
	}
}

func TestLongestPassword(t *testing.T) {
	plain := strings.Repeat("x", MaxPassword)
	encoded := EncodePassword(plain)
	if len(encoded) != MaxEncodedPassword {
		t.Errorf("EncodePassword of %d bytes has %d characters, want %d", MaxPassword, len(encoded), MaxEncodedPassword)
	}
	if got, err := DecodePassword(encoded); got != plain || err != nil {
		t.Errorf("DecodePassword of the longest = %q, %v", got, err)
	}
}

func FuzzPassword(f *testing.F) {
	for _, v := range loadPasswords(f).Passwords {
		f.Add(string(v.Plain))
		f.Add(v.Encoded)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain := s[:min(len(s), MaxPassword)]
		encoded := EncodePassword(plain)
		if strings.ContainsAny(encoded, "\\+/=\x00") {
			t.Fatalf("EncodePassword(%q) = %q, which has a forbidden character", plain, encoded)
		}
		if got, err := DecodePassword(encoded); got != plain || err != nil {
			t.Fatalf("DecodePassword(%q) = %q, %v, want %q", encoded, got, err, plain)
		}

		decoded, err := DecodePassword(s)
		if err != nil {
			return
		}
		if again, err := DecodePassword(EncodePassword(decoded)); again != decoded || err != nil {
			t.Fatalf("DecodePassword(%q) = %q, encoded and decoded again %q, %v", s, decoded, again, err)
		}
	})
}
