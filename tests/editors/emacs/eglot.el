;;; eglot.el --- a file from its opening to its mended text, with Eglot  -*- lexical-binding: t -*-

(load (expand-file-name "drive.el" (file-name-directory load-file-name)))
(setq eglot-sync-connect t eglot-autoshutdown nil)

(defun drive-met ()
  "The breaks that a run met."
  (flymake-start)
  (seq-filter (lambda (d)
                (let ((text (flymake-diagnostic-text d)))
                  (and (string-match-p "GB[0-9]+" text) (not (string-match-p "(predicted" text)))))
              (flymake-diagnostics)))

(drive-run
 (lambda ()
   (drive-open)
   (call-interactively #'eglot)
   (let* ((found (car (drive-wait "a diagnostic" #'drive-met)))
          (beg (flymake-diagnostic-beg found))
          (end (flymake-diagnostic-end found))
          (original (drive-text)))
     (drive-note 'covered (buffer-substring-no-properties beg end))
     (drive-note 'message (flymake-diagnostic-text found))
     (goto-char beg)
     (let (said)
       (eglot-hover-eldoc-function (lambda (text &rest _) (setq said text)))
       (drive-note 'hover (substring-no-properties (drive-wait "the hover text" (lambda () said)))))
     (drive-choose "Glue this graph")
     (fset 'y-or-n-p (lambda (prompt) (drive-note 'asked prompt) t)) ; before a server edits, Eglot asks
     (setq last-nonmenu-event ?a) ; asked by a key, not by a mouse: the answer is read, not chosen in a menu
     (eglot-code-actions beg end nil t)
     (drive-wait "the verified edit" (lambda () (not (equal (drive-text) original))))
     (drive-note 'glued (drive-text))
     (drive-undo)
     (drive-note 'undone (equal (drive-text) original))
     (graphglue-show-graph)
     (drive-note 'graphs (with-current-buffer "*graphglue graphs*" (buffer-string)))
     ;; Killed, it comes back, as Eglot does for every server that lived for some seconds.
     (let ((before (eglot-current-server)))
       (setq eglot-autoreconnect t)
       (signal-process (jsonrpc--process before) 'SIGKILL)
       (drive-wait "another server" (lambda () (let ((now (eglot-current-server))) (and now (not (eq now before))))))
       (drive-wait "the diagnostic after a kill" #'drive-met)
       (drive-note 'back t))
     (eglot-shutdown (eglot-current-server)))))

;;; eglot.el ends here
