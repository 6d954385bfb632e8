package configs

import (
	"errors"
	"net/url"
	"strings"
)

// errPostgresURL reports a text that is not the URL of a database.
var errPostgresURL = errors.New("is not the address of a database: write postgres://USER:PASSWORD@db.example.org/DATABASE, special characters as %40")

// CheckPostgresURL returns an error for a text that is not the URL of a PostgreSQL
// database. The error does not quote it, because it may hold a password.
func CheckPostgresURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" || u.Fragment != "" {
		return errPostgresURL
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errPostgresURL
	}
	if u.Host == "" && q.Get("host") == "" {
		return errors.New("names no server: write it after the @, or a Unix socket as ?host=/run/postgresql")
	}
	if strings.Trim(u.Path, "/") == "" && q.Get("dbname") == "" && q.Get("database") == "" {
		return errors.New("names no database: write it after the server, as in postgres://db.example.org/respawnd")
	}
	return nil
}

// parsePostgresURL checks the URL of a database.
func parsePostgresURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	return text, CheckPostgresURL(text)
}
