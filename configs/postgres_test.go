package configs

import (
	"strings"
	"testing"
)

func TestCheckPostgresURL(t *testing.T) {
	for _, good := range []string{
		"postgres://me:s3cr%40t@db.example.org/respawnd", "postgresql://db.example.org:5433/respawnd?sslmode=verify-full",
		"postgres:///respawnd?host=/run/postgresql", "postgres://a,b:5433/respawnd?target_session_attrs=read-write",
		"postgres://[2001:db8::1]:5432/respawnd",
	} {
		if err := CheckPostgresURL(good); err != nil {
			t.Errorf("CheckPostgresURL(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "hidden-token", "host=db password=hidden-token", "mysql://me:hidden-token@db/respawnd", "postgres://me:hidden-token@db",
		"postgres://me:hidden-token@/respawnd", "postgres://me:hidden-token@db/", "postgres://me:hidden-token%zz@db/x", "postgres:hidden-token",
		"postgres://db/x?password=hidden-token;", "postgres://db/x#hidden-token", "postgres://",
	} {
		if err := CheckPostgresURL(bad); err == nil || strings.Contains(err.Error(), "hidden-token") {
			t.Errorf("CheckPostgresURL(%q) = %v, want an error without the secret", bad, err)
		}
	}
}
