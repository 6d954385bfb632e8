package gamespy

import (
	"strings"
	"testing"
)

type responseVector struct {
	Secret, Challenge, Response string
}

func responseVectors(t testing.TB) []responseVector {
	groups := loadJSON[map[string][]responseVector](t, "responses.json")
	if len(groups["qr2"]) != 25 || len(groups["qr1"]) != 12 {
		t.Fatalf("responses.json has %d qr2 and %d qr1 rows, want 25 and 12", len(groups["qr2"]), len(groups["qr1"]))
	}
	return append(groups["qr2"], groups["qr1"]...)
}

func TestResponseOfOriginalClient(t *testing.T) {
	for _, v := range responseVectors(t) {
		if got := Response(v.Secret, v.Challenge); got != v.Response {
			t.Errorf("Response(%q, %q) = %q, want %q", v.Secret, v.Challenge, got, v.Response)
		}
		if !CheckResponse(v.Secret, v.Challenge, []byte(v.Response)) {
			t.Errorf("CheckResponse(%q, %q, %q) = false, want true", v.Secret, v.Challenge, v.Response)
		}
	}
}

func TestAppendResponseAppends(t *testing.T) {
	got := string(AppendResponse([]byte("before "), "HA6zkS", "ABCDEF"))
	if want := "before lkI/QHIm"; got != want {
		t.Errorf("AppendResponse = %q, want %q", got, want)
	}
}

func TestResponseIsPaddedWithZeroBytes(t *testing.T) {
	for n := range 70 {
		got := Response("secret", strings.Repeat("x", n))
		if want := (n + 2) / 3 * 4; len(got) != want {
			t.Errorf("Response to %d bytes has %d characters, want %d", n, len(got), want)
		}
		if strings.Contains(got, "=") {
			t.Errorf("Response to %d bytes = %q, want no '='", n, got)
		}
	}
}

func TestCheckResponse(t *testing.T) {
	const secret, challenge, right = "HA6zkS", "ABCDEF", "lkI/QHIm"
	tests := map[string]struct {
		secret, challenge, response string
		want                        bool
	}{
		"right":                       {secret, challenge, right, true},
		"right with NUL":              {secret, challenge, right + "\x00", true},
		"right, NUL and junk":         {secret, challenge, right + "\x00junk", true},
		"longer with right prefix":    {secret, challenge, right + "AAAA", true},
		"short by one":                {secret, challenge, right[:7], false},
		"cut by a NUL":                {secret, challenge, "lkI/\x00QHIm", false},
		"NUL before the right answer": {secret, challenge, "\x00" + right, false},
		"last character wrong":        {secret, challenge, "lkI/QHIn", false},
		"other letter case":           {secret, challenge, "LKI/QHIM", false},
		"nothing":                     {secret, challenge, "", false},
		"other secret":                {"HA6zkT", challenge, right, false},
		"other challenge":             {secret, "ABCDEG", right, false},
		"empty challenge":             {secret, "", "", false},
		"empty challenge, text":       {secret, "", "text", false},
		"empty secret":                {"", challenge, Response("", challenge), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CheckResponse(tt.secret, tt.challenge, []byte(tt.response)); got != tt.want {
				t.Errorf("CheckResponse(%q, %q, %q) = %v, want %v", tt.secret, tt.challenge, tt.response, got, tt.want)
			}
		})
	}
}

func TestSeventhCharacterOfSecretCounts(t *testing.T) {
	const challenge = "Tq8GNl80BBFA760A8834"
	if CheckResponse("Yel30yU", challenge, []byte(Response("Yel30y", challenge))) {
		t.Error("CheckResponse accepted the answer of the first 6 characters of a 7-character secret")
	}
}

func TestCheckAny(t *testing.T) {
	const challenge = "ABCDEF"
	response := []byte(Response("HA6zkS", challenge))
	tests := map[string]struct {
		secrets []string
		want    bool
	}{
		"none":       {nil, false},
		"only":       {[]string{"HA6zkS"}, true},
		"last":       {[]string{"tG3j8c", "", "HA6zkS"}, true},
		"first":      {[]string{"HA6zkS", "tG3j8c"}, true},
		"not in it":  {[]string{"tG3j8c", "9r3Rmy"}, false},
		"only empty": {[]string{""}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CheckAny(tt.secrets, challenge, response); got != tt.want {
				t.Errorf("CheckAny(%q) = %v, want %v", tt.secrets, got, tt.want)
			}
		})
	}
}

func TestCheckResponseDoesNotAllocate(t *testing.T) {
	challenge := strings.Repeat("x", 64)
	response := []byte(Response("HA6zkS", challenge))
	if n := testing.AllocsPerRun(100, func() { CheckResponse("HA6zkS", challenge, response) }); n != 0 {
		t.Errorf("CheckResponse allocates %v times, want 0", n)
	}
	dst := make([]byte, 0, len(response))
	if n := testing.AllocsPerRun(100, func() { AppendResponse(dst, "HA6zkS", challenge) }); n != 0 {
		t.Errorf("AppendResponse allocates %v times, want 0", n)
	}
}

func BenchmarkResponse(b *testing.B) {
	b.ReportAllocs()
	dst := make([]byte, 0, 28)
	for b.Loop() {
		dst = AppendResponse(dst[:0], "HA6zkS", "uNtIaG00729685634F2D")
	}
}
