package sakefiles

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"strings"
	"testing"
	"testing/iotest"
)

// boundary is that of the SDK.
const boundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// form returns the body that the SDK sends for files.
func form(contents ...string) string {
	var b strings.Builder
	for _, c := range contents {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"f.bin\"\r\n" +
			"Content-Type: application/octet-stream\r\n\r\n" + c + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func TestBoundaryOf(t *testing.T) {
	longest := strings.Repeat("b", maxBoundary)
	for contentType, want := range map[string]string{
		"multipart/form-data; boundary=" + boundary:          boundary,
		"Multipart/Form-Data;Boundary=x":                     "x",
		`multipart/form-data; boundary="a b"; charset=utf-8`: "a b",
		`multipart/form-data; boundary="a`:                   "",
		"multipart/form-data":                                "",
		"multipart/form-data; boundary=":                     "",
		"multipart/mixed; boundary=x":                        "",
		"":                                                   "",
		"multipart/form-data; boundary=" + longest:           longest,
		"multipart/form-data; boundary=" + longest + "b":     "",
		"multipart/form-data; \xff\xff\xff boundary=x":       "x", // not UTF-8
	} {
		if got, ok := boundaryOf(contentType); got != want && ok || ok != (want != "") {
			t.Errorf("boundaryOf(%q) = %q, %v, want %q", contentType, got, ok, want)
		}
	}
}

func TestFileNameOf(t *testing.T) {
	for value, want := range map[string]string{
		` form-data; name="filedata"; filename="f.bin"`:    "f.bin",
		`form-data; filename=save.dat; x=y`:                "save.dat",
		`form-data; filename="../../etc/passwd"`:           "passwd",
		`form-data; filename="C:\saves\a.sav"`:             "a.sav",
		"form-data; filename=\"a\x00\n\xffb\"":             "ab",
		`form-data; filename=""`:                           "",
		`form-data; xfilename="no"; filename="yes"`:        "yes",
		`form-data; name="x"`:                              "-",
		"form-data; \xff\xff\xff\xff\xff filename=\"x\"":   "x", // not UTF-8
		`form-data; filename="` + strings.Repeat("é", 200): strings.Repeat("é", 127),
	} {
		got, ok := fileNameOf(value)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("fileNameOf(%q) = %q, want %q", value, got, want)
		}
	}
}

// readForm returns the contents of the files of a form.
func readForm(in io.Reader, boundary string) (all []string, err error) {
	r := newReader(in, boundary)
	for {
		p, err := nextFile(r)
		if err != nil {
			return all, err
		}
		_ = p
		var b bytes.Buffer
		if err := r.content(&b); err != nil {
			return all, err
		}
		all = append(all, b.String())
	}
}

func TestReader(t *testing.T) {
	tricky := "a\r\n--" + boundary[:20] + "\r\n-\r\r\n" + strings.Repeat("\r\n--Qr4G", 5000)
	for name, tt := range map[string]struct {
		body string
		want []string
		err  error
	}{
		"one file":               {form("hello file"), []string{"hello file"}, io.EOF},
		"empty file":             {form(""), []string{""}, io.EOF},
		"two files":              {form("a", "b"), []string{"a", "b"}, io.EOF},
		"parts of a boundary":    {form(tricky), []string{tricky}, io.EOF},
		"no file":                {"--" + boundary + "--\r\n", nil, io.EOF},
		"a field":                {"--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--" + boundary + "--", nil, io.EOF},
		"what follows":           {form("a") + "rubbish", []string{"a"}, io.EOF},
		"empty":                  {"", nil, errCut},
		"59 bytes":               {form("hello file")[:59], nil, errCut},
		"no last boundary":       {form("hello file")[:len(form("hello file"))-5], nil, errCut},
		"cut in the content":     {form("hello file")[:160], nil, errCut},
		"other boundary":         {strings.ReplaceAll(form("a"), "Qr4G", "QrXX"), nil, errNoForm},
		"header that never ends": {"--" + boundary + "\r\n" + strings.Repeat("X: y\r\n", 1000), nil, errNoForm},
		"line that never ends":   {"--" + boundary + "\r\n" + strings.Repeat("x", 1<<20), nil, errNoForm},
	} {
		for how, in := range map[string]io.Reader{
			"whole": strings.NewReader(tt.body), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.body)),
		} {
			got, err := readForm(in, boundary)
			if !errors.Is(err, tt.err) || strings.Join(got, "|") != strings.Join(tt.want, "|") || len(got) != len(tt.want) && errors.Is(tt.err, io.EOF) {
				t.Errorf("%s, %s: %.60q, %v, want %.60q, %v", name, how, got, err, tt.want, tt.err)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(form("hello file")), boundary)
	f.Add([]byte(form("a", "b")), boundary)
	f.Add([]byte("--x--"), "x")
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		if boundary == "" || len(boundary) > maxBoundary || strings.ContainsAny(boundary, "\r\n") {
			return
		}
		got, err := readForm(bytes.NewReader(body), boundary)
		slow, slowErr := readForm(iotest.OneByteReader(bytes.NewReader(body)), boundary)
		if strings.Join(got, "\x00") != strings.Join(slow, "\x00") || (err == nil) != (slowErr == nil) || errors.Is(err, io.EOF) != errors.Is(slowErr, io.EOF) {
			t.Fatalf("read at once %q, %v; byte by byte %q, %v", got, err, slow, slowErr)
		}
		total := 0
		for _, c := range got {
			if total += len(c); strings.Contains(c, "\r\n--"+boundary) {
				t.Fatalf("content %q has the boundary", c)
			}
		}
		if total > len(body) {
			t.Fatalf("%d bytes of contents from a body of %d", total, len(body))
		}
	})
}

// FuzzRoundTrip has the standard library write the messages that the reader reads.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("hello file"), "f.bin")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		if bytes.Contains(content, []byte(w.Boundary())) {
			return
		}
		field, err := w.CreateFormFile("filedata", name)
		if err != nil {
			return
		}
		_, _ = field.Write(content)
		_ = w.Close()
		if body.Len()-len(content) > maxPartHeader {
			return
		}
		got, err := readForm(&body, w.Boundary())
		if !errors.Is(err, io.EOF) || len(got) != 1 || got[0] != string(content) {
			t.Fatalf("a file of %d bytes named %q is read as %d files, %v", len(content), name, len(got), err)
		}
	})
}
