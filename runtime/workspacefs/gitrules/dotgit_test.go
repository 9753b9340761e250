package gitrules_test

import (
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

func TestAliasesOfGit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".GIT", ".Git", ".git ", ".git.", ".git. .", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", ".git:x",
		`.git\hooks`, ".g\u200cit", ".git\u200d", "\ufeff.git", ".gi\u206ft"} {
		if !gitrules.Alias(name) {
			t.Errorf("%q is not taken for .git", name)
		}
	}
	for _, name := range []string{".git", ".gitignore", ".github", "git", "git~2", ".gitx", ".git-", "x.git", ".gi", "", "gít", "GIT", ".git_"} {
		if gitrules.Alias(name) {
			t.Errorf("%q is taken for .git", name)
		}
	}
}
