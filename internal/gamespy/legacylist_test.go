package gamespy

import (
	"bytes"
	"testing"
)

// legacyVectors are answers and lists as servers and clients of the time made
// them.
type legacyVectors struct {
	Validate []struct{ Secret, Challenge, Enctype0, Enctype1, Enctype2 string }
	Enctype1 []struct {
		Challenge     string
		Clear, Stream hexBytes
	}
	Enctype2 []struct {
		Secret        string
		Clear, Stream hexBytes
	}
}

func loadLegacy(t testing.TB) legacyVectors {
	v := loadJSON[legacyVectors](t, "legacylist.json")
	if len(v.Validate) != 12 || len(v.Enctype1) != 8 || len(v.Enctype2) != 8 {
		t.Fatalf("legacylist.json has %d, %d and %d rows, want 12, 8 and 8", len(v.Validate), len(v.Enctype1), len(v.Enctype2))
	}
	return v
}

func TestValidateOfOldBrowsers(t *testing.T) {
	for _, v := range loadLegacy(t).Validate {
		for enctype, want := range []string{v.Enctype0, v.Enctype1, v.Enctype2} {
			if got := string(AppendValidate(nil, enctype, v.Secret, v.Challenge)); got != want {
				t.Errorf("AppendValidate(%d, %q, %q) = %q, want %q", enctype, v.Secret, v.Challenge, got, want)
			}
			secrets := []string{"wrong1", v.Secret}
			if got, ok := CheckValidate(enctype, secrets, v.Challenge, []byte(want)); !ok || got != v.Secret {
				t.Errorf("CheckValidate(%d, %q, %q, %q) = %q, %v, want %q, true", enctype, secrets, v.Challenge, want, got, ok, v.Secret)
			}
		}
	}
}

func TestAppendValidateAppends(t *testing.T) {
	for enctype, want := range []string{"before lkI/QHIm", "before vgFKIJge", "before 3gMJOhl1"} {
		if got := string(AppendValidate([]byte("before "), enctype, "HA6zkS", "ABCDEF")); got != want {
			t.Errorf("AppendValidate of enctype %d = %q, want %q", enctype, got, want)
		}
	}
}

func TestValidateWithSevenCharacterSecret(t *testing.T) {
	const long, short, challenge = "Yel30yU", "Yel30y", "ABCDEF"
	for enctype := range 3 {
		for _, used := range []string{long, short} {
			response := AppendValidate(nil, enctype, used, challenge)
			if got, ok := CheckValidate(enctype, []string{long}, challenge, response); !ok || got != used {
				t.Errorf("enctype %d: CheckValidate of an answer with %q = %q, %v, want it found", enctype, used, got, ok)
			}
		}
		response := AppendValidate(nil, enctype, long, challenge)
		if got, ok := CheckValidate(enctype, []string{short}, challenge, response); ok {
			t.Errorf("enctype %d: the answer with %q counts for %q", enctype, long, got)
		}
	}
}

func TestCheckValidateRefuses(t *testing.T) {
	const challenge = "ABCDEF"
	tests := map[string]struct {
		enctype   int
		secrets   []string
		challenge string
		response  string
		want      bool
	}{
		"right":                {2, []string{"HA6zkS"}, challenge, "3gMJOhl1", true},
		"right and more":       {2, []string{"HA6zkS"}, challenge, "3gMJOhl1junk", true},
		"of another enctype":   {1, []string{"HA6zkS"}, challenge, "3gMJOhl1", false},
		"short by one":         {2, []string{"HA6zkS"}, challenge, "3gMJOhl", false},
		"last letter wrong":    {2, []string{"HA6zkS"}, challenge, "3gMJOhl2", false},
		"constant of a tool":   {0, []string{"HA6zkS"}, challenge, "12345678", false},
		"nothing":              {0, []string{"HA6zkS"}, challenge, "", false},
		"no secret":            {0, nil, challenge, "lkI/QHIm", false},
		"empty secret":         {0, []string{""}, challenge, Response("", challenge), false},
		"empty challenge":      {0, []string{"HA6zkS"}, "", "", false},
		"unknown enctype is 0": {9, []string{"HA6zkS"}, challenge, "lkI/QHIm", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := CheckValidate(tt.enctype, tt.secrets, tt.challenge, []byte(tt.response)); got != tt.want {
				t.Errorf("CheckValidate(%d, %q, %q, %q) = %v, want %v", tt.enctype, tt.secrets, tt.challenge, tt.response, got, tt.want)
			}
		})
	}
}

func TestCheckValidateDoesNotAllocate(t *testing.T) {
	secrets, response := []string{"tG3j8c", "Yel30yU"}, []byte("12345678")
	for enctype := range 3 {
		if n := testing.AllocsPerRun(100, func() { CheckValidate(enctype, secrets, "ABCDEF", response) }); n != 0 {
			t.Errorf("CheckValidate of enctype %d allocates %v times, want 0", enctype, n)
		}
	}
}

func TestEnctype2ListsOfTheTime(t *testing.T) {
	for _, v := range loadLegacy(t).Enctype2 {
		key, body, err := ParseEnctype2Header(v.Stream, v.Secret)
		if err != nil || len(key) != Enctype2Key {
			t.Fatalf("ParseEnctype2Header = %x, _, %v, want a key of %d bytes", key, err, Enctype2Key)
		}
		clear := bytes.Clone(body)
		c := NewTreeCipher(key)
		c.XOR(clear, clear)
		if !bytes.Equal(clear, v.Clear) {
			t.Errorf("list of %d bytes = %x, want %x", len(v.Clear), clear, []byte(v.Clear))
		}
		stream := AppendEnctype2Header(nil, v.Secret, key)
		start := len(stream)
		stream = append(stream, v.Clear...)
		c = NewTreeCipher(key)
		c.XOR(stream[start:], stream[start:])
		if !bytes.Equal(stream, v.Stream) {
			t.Errorf("stream of %d bytes = %x, want %x", len(v.Clear), stream, []byte(v.Stream))
		}
	}
}

func TestEnctype1ListsOfTheTime(t *testing.T) {
	for _, v := range loadLegacy(t).Enctype1 {
		clear, err := DecodeEnctype1(v.Challenge, v.Stream)
		if err != nil || !bytes.Equal(clear, v.Clear) {
			t.Errorf("DecodeEnctype1 of %d bytes = %x, %v, want %x", len(v.Clear), clear, err, []byte(v.Clear))
		}
		noise := [Enctype1Noise]byte(v.Stream[atNoise:])
		e, stream := NewEnctype1(v.Challenge, len(v.Clear), &noise)
		start := len(stream)
		stream = append(stream, v.Clear...)
		e.Encode(stream[start:], v.Clear)
		if !bytes.Equal(stream, v.Stream) {
			t.Errorf("stream of %d bytes = %x, want %x", len(v.Clear), stream, []byte(v.Stream))
		}
	}
}

func TestHeadersThatAreNoneAreRefused(t *testing.T) {
	good := loadLegacy(t).Enctype1[4].Stream
	change := func(at int, b byte) []byte {
		s := bytes.Clone(good)
		s[at] = b
		return s
	}
	for name, stream := range map[string][]byte{
		"nothing":              nil,
		"39 bytes":             good[:39],
		"other length":         good[:len(good)-1],
		"lead beyond the end":  change(atLead, (255+5-256)^205),
		"trail beyond the end": change(atTrail, byte(200+20)^62),
	} {
		if list, err := DecodeEnctype1("XSKHAT", stream); err == nil {
			t.Errorf("%s: DecodeEnctype1 = %x, want an error", name, list)
		}
	}
	for name, stream := range map[string][]byte{
		"nothing":                 nil,
		"key without bytes":       {enctype2Length, 1, 2},
		"key cut":                 {enctype2Length ^ 13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"key shorter than secret": {enctype2Length ^ 5, 1, 2, 3, 4, 5, 6},
	} {
		if key, body, err := ParseEnctype2Header(stream, "HA6zkS"); err == nil {
			t.Errorf("%s: ParseEnctype2Header = %x, %x, want an error", name, key, body)
		}
	}
}

func TestTooLongEnctype2KeyPanics(t *testing.T) {
	AppendEnctype2Header(nil, "HA6zkS", make([]byte, 255))
	defer func() {
		if recover() == nil {
			t.Error("no panic, though the key is longer than 255 bytes")
		}
	}()
	AppendEnctype2Header(nil, "HA6zkS", make([]byte, 256))
}

// TestTreeCipherBeyondItsLeaves is about lists of more than 252 KiB.
func TestTreeCipherBeyondItsLeaves(t *testing.T) {
	const size = treeLeaf/treeWords*treeUseful + 4*treeBlock
	whole := make([]byte, size)
	c := NewTreeCipher([]byte("key"))
	c.XOR(whole, whole)
	pieces := make([]byte, size)
	c = NewTreeCipher([]byte("key"))
	for rest := pieces; len(rest) > 0; {
		n := min(1000, len(rest))
		c.XOR(rest[:n], rest[:n])
		rest = rest[n:]
	}
	if !bytes.Equal(whole, pieces) {
		t.Error("a stream in pieces differs from the whole one")
	}
	tail := whole[size-2*treeBlock:]
	if bytes.Equal(tail, make([]byte, len(tail))) {
		t.Error("the stream ends in zeros")
	}
}

func TestListCiphersDoNotAllocate(t *testing.T) {
	buf, key := make([]byte, 300), []byte("0123456789abc")
	if n := testing.AllocsPerRun(100, func() { c := NewTreeCipher(key); c.XOR(buf, buf) }); n != 0 {
		t.Errorf("NewTreeCipher and XOR allocate %v times, want 0", n)
	}
	var noise [Enctype1Noise]byte
	if n := testing.AllocsPerRun(100, func() { e, _ := NewEnctype1("ABCDEF", len(buf), &noise); e.Encode(buf, buf) }); n > 2 {
		t.Errorf("NewEnctype1 and Encode allocate %v times, want at most the header and the key", n)
	}
}

func FuzzEnctype1(f *testing.F) {
	for _, v := range loadLegacy(f).Enctype1 {
		f.Add(v.Challenge, []byte(v.Stream[atNoise:58]), []byte(v.Clear), uint16(7))
	}
	f.Add("", []byte{}, []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, challenge string, random, clear []byte, cut uint16) {
		var noise [Enctype1Noise]byte
		copy(noise[:], random)
		at := int(cut) % (len(clear) + 1)
		e, stream := NewEnctype1(challenge, len(clear), &noise)
		start := len(stream)
		stream = append(stream, clear...)
		e.Encode(stream[start:start+at], clear[:at])
		e.Encode(stream[start+at:], clear[at:])
		got, err := DecodeEnctype1(challenge, stream)
		if err != nil || !bytes.Equal(got, clear) {
			t.Fatalf("DecodeEnctype1 of an encoded list = %x, %v, want %x", got, err, clear)
		}
	})
}

func FuzzDecodeEnctype1(f *testing.F) {
	for _, v := range loadLegacy(f).Enctype1 {
		f.Add(v.Challenge, []byte(v.Stream))
	}
	f.Fuzz(func(t *testing.T, challenge string, stream []byte) {
		before := bytes.Clone(stream)
		if list, err := DecodeEnctype1(challenge, stream); err == nil && len(list)+enctype1Fixed > len(stream) {
			t.Fatalf("a list of %d bytes out of %d", len(list), len(stream))
		}
		if !bytes.Equal(before, stream) {
			t.Fatal("DecodeEnctype1 changed its input")
		}
	})
}

func FuzzEnctype2(f *testing.F) {
	for _, v := range loadLegacy(f).Enctype2 {
		f.Add(v.Secret, []byte(v.Stream[1:14]), []byte(v.Clear), uint16(63))
	}
	f.Fuzz(func(t *testing.T, secret string, key, clear []byte, cut uint16) {
		if len(key) == 0 || len(key) > maxEnctype2Key || len(secret) > len(key) {
			t.Skip("such keys are not used")
		}
		at := int(cut) % (len(clear) + 1)
		stream := AppendEnctype2Header(nil, secret, key)
		start := len(stream)
		stream = append(stream, clear...)
		c := NewTreeCipher(key)
		c.XOR(stream[start:start+at], clear[:at])
		c.XOR(stream[start+at:], clear[at:])
		gotKey, body, err := ParseEnctype2Header(stream, secret)
		if err != nil || !bytes.Equal(gotKey, key) {
			t.Fatalf("ParseEnctype2Header = %x, _, %v, want %x", gotKey, err, key)
		}
		c = NewTreeCipher(gotKey)
		c.XOR(body, body)
		if !bytes.Equal(body, clear) {
			t.Fatalf("decoded %x, want %x", body, clear)
		}
	})
}

func BenchmarkTreeCipher(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	key := []byte("0123456789abc")
	for b.Loop() {
		c := NewTreeCipher(key) // its leaves are not endless
		c.XOR(buf, buf)
	}
}

func BenchmarkNewTreeCipher(b *testing.B) {
	b.ReportAllocs()
	key := []byte("0123456789abc")
	for b.Loop() {
		NewTreeCipher(key)
	}
}

func BenchmarkEnctype1(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	var noise [Enctype1Noise]byte
	for b.Loop() {
		e, _ := NewEnctype1("ABCDEF", len(buf), &noise)
		e.Encode(buf, buf)
	}
}

func BenchmarkAppendValidate(b *testing.B) {
	b.ReportAllocs()
	dst := make([]byte, 0, 8)
	for b.Loop() {
		dst = AppendValidate(dst[:0], 2, "HA6zkS", "ABCDEF")
	}
}
