;;; lsp-mode.el --- a file from its opening to its mended text, with lsp-mode  -*- lexical-binding: t -*-

(load (expand-file-name "drive.el" (file-name-directory load-file-name)))
(setq lsp-auto-guess-root t
      lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      lsp-restart 'ignore
      lsp-keep-workspace-alive t
      lsp-diagnostics-provider :flymake
      lsp-enabled-clients '(graphglue))

(defun drive-met ()
  "The breaks that a run met."
  (seq-filter (lambda (d) (and (equal (lsp:diagnostic-source? d) "graphglue")
                               (stringp (lsp:diagnostic-code? d))
                               (string-prefix-p "GB" (lsp:diagnostic-code? d))
                               (not (string-match-p "(predicted" (lsp:diagnostic-message d)))))
              (gethash (buffer-file-name) (lsp-diagnostics t))))

(drive-run
 (lambda ()
   (drive-open)
   (lsp)
   (let* ((found (car (drive-wait "a diagnostic" #'drive-met)))
          (range (lsp--range-to-region (lsp:diagnostic-range found)))
          (original (drive-text)))
     (drive-note 'covered (buffer-substring-no-properties (car range) (cdr range)))
     (drive-note 'message (format "%s %s" (lsp:diagnostic-code? found) (lsp:diagnostic-message found)))
     (goto-char (car range))
     (let ((hover (lsp-request "textDocument/hover" (lsp--text-document-position-params))))
       (drive-note 'hover (lsp:markup-content-value (lsp:hover-contents hover))))
     (drive-choose "Glue this graph")
     (call-interactively #'lsp-execute-code-action)
     (drive-wait "the verified edit" (lambda () (not (equal (drive-text) original))))
     (drive-note 'glued (drive-text))
     (drive-undo)
     (drive-note 'undone (equal (drive-text) original))
     (graphglue-glue-all)
     (drive-wait "the edit of the whole file" (lambda () (not (equal (drive-text) original))))
     (drive-note 'glued-all (drive-text))
     (lsp-workspace-shutdown (car (lsp-workspaces))))))

;;; lsp-mode.el ends here
