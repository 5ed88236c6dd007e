package org.rdmasockets.grpc;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.EmptyProtos.Empty;
import io.grpc.testing.integration.Messages.EchoStatus;
import io.grpc.testing.integration.Messages.Payload;
import io.grpc.testing.integration.Messages.ResponseParameters;
import io.grpc.testing.integration.Messages.SimpleRequest;
import io.grpc.testing.integration.Messages.SimpleResponse;
import io.grpc.testing.integration.Messages.StreamingInputCallRequest;
import io.grpc.testing.integration.Messages.StreamingInputCallResponse;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;

/** gRPC's interop service, as its definition says. */
final class TestService extends TestServiceGrpc.TestServiceImplBase {
    @Override
    public void emptyCall(Empty request, StreamObserver<Empty> answers) {
        answers.onNext(Empty.getDefaultInstance());
        answers.onCompleted();
    }

    @Override
    public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
        if (!fails(request.getResponseStatus(), answers)) {
            answers.onNext(SimpleResponse.newBuilder().setPayload(payload(request.getResponseSize())).build());
            answers.onCompleted();
        }
    }

    @Override
    public void cacheableUnaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
        unaryCall(request, answers);
    }

    @Override
    public void streamingOutputCall(StreamingOutputCallRequest request,
            StreamObserver<StreamingOutputCallResponse> answers) {
        answerAll(request, answers);
        answers.onCompleted();
    }

    private static void answerAll(StreamingOutputCallRequest request,
            StreamObserver<StreamingOutputCallResponse> answers) {
        for (ResponseParameters one : request.getResponseParametersList()) {
            answers.onNext(StreamingOutputCallResponse.newBuilder().setPayload(payload(one.getSize())).build());
        }
    }

    @Override
    public StreamObserver<StreamingInputCallRequest> streamingInputCall(
            StreamObserver<StreamingInputCallResponse> answers) {
        return new StreamObserver<>() {
            private int bytes;

            @Override
            public void onNext(StreamingInputCallRequest request) {
                bytes += request.getPayload().getBody().size();
            }

            @Override
            public void onError(Throwable failure) {
                // The call was cancelled.
            }

            @Override
            public void onCompleted() {
                answers.onNext(StreamingInputCallResponse.newBuilder().setAggregatedPayloadSize(bytes).build());
                answers.onCompleted();
            }
        };
    }

    @Override
    public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
            StreamObserver<StreamingOutputCallResponse> answers) {
        return new StreamObserver<>() {
            @Override
            public void onNext(StreamingOutputCallRequest request) {
                if (!fails(request.getResponseStatus(), answers)) {
                    answerAll(request, answers);
                }
            }

            @Override
            public void onError(Throwable failure) {
                // The call was cancelled.
            }

            @Override
            public void onCompleted() {
                answers.onCompleted();
            }
        };
    }

    private static boolean fails(EchoStatus status, StreamObserver<?> answers) {
        if (status.getCode() == 0) {
            return false;
        }
        answers.onError(Status.fromCodeValue(status.getCode()).withDescription(status.getMessage()).asException());
        return true;
    }

    /** A payload of zeros. */
    static Payload payload(int bytes) {
        return Payload.newBuilder().setBody(ByteString.copyFrom(new byte[bytes])).build();
    }
}
