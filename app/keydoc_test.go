package app_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"lazaret.dev/lazaret/app"
)

const (
	docPath  = "../docs/dashboard.md"
	docBegin = "<!-- keys: begin, written by the test of app -->\n"
	docEnd   = "<!-- keys: end -->\n"
)

// The documented keys are the key tables; with -update they are written anew.
func TestDocumentedKeysAreTheTables(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), docBegin)
	old, tail, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		t.Fatal("the markers of the key tables are missing")
	}
	var doc strings.Builder
	for _, table := range app.Tables() {
		fmt.Fprintf(&doc, "\n%s:\n\n| key | does | action |\n| --- | --- | --- |\n", strings.ToUpper(table.Context[:1])+table.Context[1:])
		for _, row := range table.Rows {
			keys := "`" + strings.Join(row.Keys, "`, `") + "`"
			help := row.Help
			if row.Danger {
				help += " ⚠"
			}
			fmt.Fprintf(&doc, "| %s | %s | `%s` |\n", strings.ReplaceAll(keys, "|", `\|`), help, row.Action)
		}
	}
	doc.WriteString("\n")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(docPath, []byte(head+docBegin+doc.String()+docEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if doc.String() != old {
		t.Error("docs/dashboard.md lists other keys than the tables; write them with -update")
	}
}

// One chord means one thing in each table, and one action has one name in all.
func TestKeyTablesAreConsistent(t *testing.T) {
	t.Parallel()
	actions := map[string]string{}
	for _, table := range app.Tables() {
		chords := map[string]string{}
		for _, row := range table.Rows {
			if row.Help == "" || row.Action == "" || len(row.Keys) == 0 {
				t.Errorf("%s: incomplete row %+v", table.Context, row)
			}
			if other, ok := actions[row.Action]; ok {
				t.Errorf("action %s is in %s and in %s", row.Action, other, table.Context)
			}
			actions[row.Action] = table.Context
			for _, k := range row.Keys {
				if other, ok := chords[k]; ok {
					t.Errorf("%s: %q is %s and %s", table.Context, k, other, row.Action)
				}
				chords[k] = row.Action
			}
		}
	}
}
