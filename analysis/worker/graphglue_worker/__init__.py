"""The worker's Python side: captures and verifies entries of user code under TorchDynamo.

Reading order: ``zygote`` (the process that stays), ``job`` (what a forked child does), ``inputs`` (entries of a file),
``capture`` and ``hooks`` (one run under Dynamo), ``verify`` and ``compare`` (is an edit right), ``overlay`` (unsaved text).
The wire protocol is described in docs/worker-protocol.md.
"""
